//! Tests of what modules of the engine share; those of private parts are modules of the files with these.

mod base {
    mod control;
    mod random;
    mod state;
}
mod ensemble {
    mod pool;
}
mod gram {
    mod classes;
    mod singles;
}
mod linalg {
    mod updatable_cholesky;
}
mod simd {
    mod dot;
    mod special;
    mod tile;
}
