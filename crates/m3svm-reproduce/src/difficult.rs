//! The classes among which most mistakes happen.

/// Share of all mistakes that the block of difficult classes shall hold at least.
const SHARE: f64 = 0.75;

/// An order of classes that puts the difficult ones first.
pub(crate) struct Difficult {
    /// Numbers of the classes.
    pub(crate) order: Vec<usize>,
    /// How many of the first ones are the block.
    pub(crate) size: usize,
    /// All mistakes.
    pub(crate) mistakes: f64,
    /// Mistakes inside the block.
    pub(crate) inside: f64,
}

impl Difficult {
    /// From rows by true and predicted class. The block starts with the most confused pair and takes in the class that adds most mistakes,
    /// until three quarters of all are inside. The other classes follow by how much they are confused with those before them.
    pub(crate) fn of(counts: &[Vec<f64>]) -> Self {
        let c = counts.len();
        let between = |k: usize, l: usize| if k == l { 0.0 } else { counts[k][l] + counts[l][k] };
        let mistakes: f64 = (0..c).flat_map(|k| (0..k).map(move |l| (k, l))).map(|(k, l)| between(k, l)).sum();
        let pairs = (0..c).flat_map(|k| (k + 1..c).map(move |l| (k, l)));
        let first = pairs.reduce(|a, b| if between(b.0, b.1) > between(a.0, a.1) { b } else { a });
        let Some((k, l)) = first.filter(|_| mistakes > 0.0) else {
            return Self { order: (0..c).collect(), size: 0, mistakes, inside: 0.0 };
        };
        let (mut order, mut held) = (vec![k, l], between(k, l));
        let (mut size, mut inside) = (2, held);
        while order.len() < c {
            let added = |k: usize| order.iter().map(|&l| between(k, l)).sum::<f64>();
            let left = (0..c).filter(|k| !order.contains(k)).map(|k| (k, added(k)));
            let Some((next, gain)) = left.reduce(|a, b| if b.1 > a.1 { b } else { a }) else { break };
            let full = inside >= SHARE * mistakes;
            order.push(next);
            held += gain;
            if !full {
                (size, inside) = (order.len(), held);
            }
        }
        Self { order, size, mistakes, inside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_holds_three_quarters_of_the_mistakes_and_no_class_too_many() {
        // Classes 1 and 3 are confused most, 4 with both of them, 0 and 2 hardly ever.
        let counts = [
            vec![50.0, 0.0, 1.0, 0.0, 0.0],
            vec![0.0, 40.0, 0.0, 6.0, 2.0],
            vec![1.0, 0.0, 50.0, 0.0, 0.0],
            vec![0.0, 5.0, 0.0, 44.0, 1.0],
            vec![0.0, 0.0, 1.0, 1.0, 48.0],
        ];
        let found = Difficult::of(&counts);
        assert_eq!((found.order, found.size), (vec![1, 3, 4, 2, 0], 3));
        assert_eq!((found.inside, found.mistakes), (15.0, 18.0));
    }

    #[test]
    fn without_mistakes_there_is_no_block() {
        let found = Difficult::of(&[vec![3.0, 0.0], vec![0.0, 4.0]]);
        assert_eq!((found.order, found.size, found.mistakes), (vec![0, 1], 0, 0.0));
    }
}
