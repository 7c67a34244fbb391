//! The examples that a point violates, counted while the point moves.

use crate::space::VersionSpace;

pub struct Violations {
    /// Violated planes with label -1 and with label +1.
    pub examples: [u32; 2],
    /// The same, counting planes that coincide as on the same side.
    pub layer: [u32; 2],
    /// Violated walls of each example, if it may have several.
    walls: Vec<u32>,
}

impl Violations {
    pub fn at(space: &VersionSpace, f: &[f64]) -> Self {
        let (examples, layer) = (space.violations(f), space.layer(f));
        Self { examples, layer, walls: space.violated_walls(f) }
    }

    /// Returns whether these are the numbers at plane coordinates `f`.
    pub fn agrees(&self, space: &VersionSpace, f: &[f64]) -> bool {
        self.examples == space.violations(f) && self.layer == space.layer(f)
    }

    /// Returns whether a plane is free, or belongs to an example of several walls that is violated.
    #[inline]
    pub fn makes_no_difference(&self, space: &VersionSpace, plane: usize) -> bool {
        let Some(planes) = space.planes() else { return false };
        let is_alone =
            planes.walls().is_some_and(|walls| plane < walls.walls() && walls.is_alone(plane));
        !is_alone && planes.place(plane).is_none_or(|place| self.walls[place] > 0)
    }

    /// Counts a crossing of a plane to the side of its coordinate `f`.
    pub fn cross(&mut self, space: &VersionSpace, plane: usize, f: f64) {
        let is_satisfied = space.satisfied(plane, f);
        if let Some(planes) = space.planes() {
            let Some(place) = planes.place(plane) else { return };
            let walls = &mut self.walls[place];
            let before = *walls;
            *walls = if is_satisfied { before.saturating_sub(1) } else { before + 1 };
            // Another wall decides whether the example is violated.
            if before.max(*walls) > 1 {
                return;
            }
        }
        let count = &mut self.examples[usize::from(space.labels()[plane] > 0)];
        *count = if is_satisfied { count.saturating_sub(1) } else { *count + 1 };
        self.layer = match space.planes() {
            None => space.layer_behind(plane, -f, self.layer),
            Some(_) => self.examples,
        };
    }
}
