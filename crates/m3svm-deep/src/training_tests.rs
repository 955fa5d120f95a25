//! Trainings of seconds on small images: they learn, they go on exactly, they stop early.

use burn_autodiff::Autodiff;
use burn_flex::{Flex, FlexDevice};
use m3svm_burn::head_margins;

use crate::checkpoint::{self, Place};
use crate::data::ImageSet;
use crate::data::samples::small_set;
use crate::settings::{LossName, NetworkName, Schedule, Settings};
use crate::training::{Epoch, Loaded, Training};

type Graph = Autodiff<Flex>;

const DEVICE: FlexDevice = FlexDevice;

fn trained(settings: &Settings, set: &ImageSet) -> Training<Graph> {
    let data = Loaded::new(set, settings.validation, &DEVICE);
    let mut training = Training::new(settings, 3, &data, &DEVICE);
    while !training.finished() {
        training.epoch(&data, &DEVICE, &|_| {}).unwrap();
    }
    training
}

/// Epochs without what depends on the clock.
fn timeless(history: &[Epoch]) -> Vec<Epoch> {
    history.iter().map(|e| Epoch { images_per_second: 0.0, ..e.clone() }).collect()
}

#[test]
fn every_loss_learns_to_tell_bars_apart() {
    let set = small_set(3, 12);
    let (cnn, resnet) = (NetworkName::Cnn, NetworkName::Resnet);
    for (loss, network) in
        [(LossName::Softmax, cnn), (LossName::Ism3, cnn), (LossName::M3svm, cnn), (LossName::Ism3, resnet)]
    {
        // The rate falls to 0, so that the last epochs do not jump about.
        let settings =
            Settings { network, epochs: 10, rate: 2e-3, schedule: Schedule::Cosine, ..Settings::small(loss) };
        let history = trained(&settings, &set).history;
        let (first, last) = (&history[0], &history[9]);
        assert!(last.test_accuracy > 0.9, "{loss:?} {network:?}: {history:?}");
        assert!(last.train_loss < first.train_loss, "{loss:?} {network:?}");
    }
}

/// What the penalty is for.
#[test]
fn a_strong_penalty_widens_the_smallest_margin() {
    let set = small_set(3, 8);
    let margin = |loss: LossName| {
        let settings = Settings { epochs: 5, rate: 4e-3, lambda: 1.0, ..Settings::small(loss) };
        trained(&settings, &set).history.last().unwrap().min_margin
    };
    assert!(margin(LossName::Ism3) > 1.2 * margin(LossName::Softmax));
}

#[test]
fn a_resumed_training_is_the_uninterrupted_one() {
    let set = small_set(2, 8);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.checkpoint");
    for network in [NetworkName::Cnn, NetworkName::Resnet] {
        let settings = Settings {
            network,
            epochs: 4,
            augment: true,
            decay: 0.1,
            validation: 0.25,
            patience: 3,
            ..Settings::small(LossName::Ism3)
        };
        let data = Loaded::<Graph>::new(&set, settings.validation, &DEVICE);
        let place = Place { shape: data.shape, classes: &set.classes, data: "1a2b", images: data.train_len() };
        let mut first = Training::new(&settings, 3, &data, &DEVICE);
        first.epoch(&data, &DEVICE, &|_| {}).unwrap();
        first.epoch(&data, &DEVICE, &|_| {}).unwrap();
        checkpoint::save(&first, place, &path).unwrap();
        drop(first);
        let mut second = checkpoint::resume::<Graph>(&path, &settings, 3, place, &DEVICE).unwrap();
        while !second.finished() {
            second.epoch(&data, &DEVICE, &|_| {}).unwrap();
        }
        let whole = trained(&settings, &set);
        assert_eq!(timeless(&second.history), timeless(&whole.history), "{network:?}");
        assert_eq!(head_margins(&second.chosen().head), head_margins(&whole.chosen().head));
        assert_eq!(second.first_margins, whole.first_margins);
    }
}

#[test]
fn early_stopping_keeps_the_best_weights() {
    let set = small_set(3, 12);
    let settings =
        Settings { epochs: 30, patience: 2, validation: 0.25, rate: 4e-3, ..Settings::small(LossName::Softmax) };
    let training = trained(&settings, &set);
    assert!(training.history.len() < 30, "{:?}", training.history);
    let best = training.outcome().unwrap();
    let top = training.history.iter().filter_map(|e| e.validation_accuracy).fold(0.0, f64::max);
    assert_eq!(best.validation_accuracy, Some(top));
    assert_eq!(training.history.len(), best.epoch + 2);
    let smallest = head_margins(&training.chosen().head).into_iter().fold(f64::INFINITY, f64::min);
    assert_eq!(smallest, best.min_margin);
}

#[test]
fn a_checkpoint_of_another_training_is_refused() {
    let set = small_set(2, 4);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.checkpoint");
    let settings = Settings { epochs: 1, ..Settings::small(LossName::Ism3) };
    let training = trained(&settings, &set);
    let place = Place { shape: [1, 32, 32], classes: &set.classes, data: "1a2b", images: 8 };
    checkpoint::save(&training, place, &path).unwrap();
    let refused = |settings: &Settings, seed: u64, place: Place<'_>| {
        let result = checkpoint::resume::<Graph>(&path, settings, seed, place, &DEVICE);
        format!("{:#}", result.err().unwrap())
    };
    let other = Settings { network: NetworkName::Resnet, ..settings.clone() };
    assert!(refused(&other, 3, place).ends_with("it holds another network (Cnn, not Resnet)"));
    assert!(
        refused(&Settings { lambda: 1.0, ..settings.clone() }, 3, place)
            .ends_with("trained with `lambda` 0.0001, not 1.0")
    );
    assert!(
        refused(&Settings { schedule: Schedule::Constant, ..settings.clone() }, 3, place)
            .ends_with("trained with `schedule` cosine, not constant")
    );
    assert!(refused(&settings, 4, place).ends_with("it has the seed 3, not 4"));
    let wide = Place { shape: [1, 64, 64], ..place };
    assert!(refused(&settings, 3, wide).ends_with("it was trained on images of 1x32x32, not 1x64x64"));
    assert!(refused(&settings, 3, Place { images: 9, ..place }).ends_with("it was trained on 8 images, not 9"));
    assert!(refused(&settings, 3, Place { data: "1a2c", ..place }).ends_with("it was trained on other images"));
    let names = ["a".to_string(), "b".to_string()];
    assert!(refused(&settings, 3, Place { classes: &names, ..place }).ends_with("other classes"));

    let bytes = std::fs::read(&path).unwrap();
    for (broken, words) in [
        (&bytes[..bytes.len() - 1], "it ends early"),
        (&bytes[..50], "it ends early"),
        (&b"m3svm-deep checkpoint 1 20\n"[..], "cannot be continued exactly; train again"),
        (&b"m3svm-deep checkpoint 2 20\n"[..], "cannot be continued exactly; train again"),
        (&b"PNG\n"[..], "it is of another kind or version"),
        (&b""[..], "its first line is missing"),
    ] {
        std::fs::write(&path, broken).unwrap();
        assert!(refused(&settings, 3, place).ends_with(words), "{}", refused(&settings, 3, place));
    }
    // The header is right, the weights are not.
    let mut scrambled = bytes.clone();
    let start = bytes.len() - 2000;
    scrambled[start..].iter_mut().for_each(|b| *b = b.wrapping_add(101));
    std::fs::write(&path, scrambled).unwrap();
    assert!(refused(&settings, 3, place).contains("is not a usable checkpoint"));
}

/// Weights that overflow are said, not averaged away.
#[test]
fn a_training_that_diverges_says_so() {
    let set = small_set(2, 4);
    let settings = Settings { rate: 1e30, schedule: Schedule::Constant, ..Settings::small(LossName::Ism3) };
    let data = Loaded::<Graph>::new(&set, 0.0, &DEVICE);
    let mut training = Training::new(&settings, 3, &data, &DEVICE);
    let error = training.epoch(&data, &DEVICE, &|_| {}).and_then(|()| training.epoch(&data, &DEVICE, &|_| {}));
    assert!(error.unwrap_err().to_string().starts_with("training diverged in epoch"));
}
