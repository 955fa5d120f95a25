//! Help texts: every option with its default.

use insta::assert_snapshot;

use crate::{Lab, stderr};

#[test]
fn the_program() {
    assert_snapshot!(Lab::iris().text("--help"), @"
    Multi-class classification with the largest minimum margin, solved to a certified optimum

    Usage: m3svm [OPTIONS] <COMMAND>

    Commands:
      demo         Train on a small built-in data set and show what this program is for
      train        Train a model on a data file
      tune         Choose lambda and p by cross-validation, and train with them
      compare      Tune all methods on a data file and see which is best
      reproduce    Run the tables and figures of the paper again
      describe     Show what each column of a data file is taken for, and what looks wrong
      separable    Say whether linear scores can tell all classes apart, and prove it
      predict      Predict the classes of a data file
      evaluate     Measure how well a model does on a data file with labels
      inspect      Show what is in a model file
      export       Turn a model into a form that other programs use
      completions  Print a completion script for a shell
      man          Print a manual page
      help         Print this message or the help of the given subcommand(s)

    Options:
          --threads <N>    Threads to use [default: all cores]
          --memory <SIZE>  Most memory to take, such as 2GB or 512MiB [default: 80 % of what is free]
      -q, --quiet          Say nothing but results and errors: no notes, no warnings, no progress
      -h, --help           Print help
      -V, --version        Print version

    Start with `m3svm demo`.

    Exit status: 0 if all went well (also if Ctrl-C ended a training whose best model was kept),
    1 if something failed (a setting outside its range, too), 2 if the command line cannot be
    understood.
    ");
}

#[test]
fn reproduce() {
    let help = Lab::iris().text("reproduce --help");
    for expected in [
        "Usage: m3svm reproduce [OPTIONS] <WHAT>",
        "- table1:        Accuracies of all methods on eight data sets",
        "- all:           All of them",
        "- fair:  Tuned by inner folds and judged on outer ones, all methods alike",
        "[default: $M3SVM_DATA, else ../shared/data]",
        "[default: both]",
        "[default: experiments]",
        "--finished",
    ] {
        assert!(help.contains(expected), "{expected}: {help}");
    }
    // Lines that are broken by hand are not broken again.
    assert!(help.contains("figures (SVG, PNG) and the\nsettings behind them"), "{help}");
}

#[test]
fn train() {
    assert_snapshot!(Lab::iris().text("train --help"), @"
    Train a model on a data file

    Usage: m3svm train [OPTIONS] <FILE>...

    Arguments:
      <FILE>...  Data with labels: CSV, LIBSVM, Parquet, Arrow, JSON lines, NumPy or MATLAB; `-` is
                 standard input. Several files with the same columns, folders and patterns such as
                 'data/*.parquet' are one table

    Options:
          --threads <N>    Threads to use [default: all cores]
          --memory <SIZE>  Most memory to take, such as 2GB or 512MiB [default: 80 % of what is free]
      -q, --quiet          Say nothing but results and errors: no notes, no warnings, no progress
      -h, --help           Print help
      -V, --version        Print version

    Data:
          --cache <DIR>           Keep the rows of data larger than memory in this folder, for this
                                  training and later ones [default: the folder for temporary files,
                                  where nothing stays]
          --label <NAME|INDEX>    Label column by name or position from 0, -1 the last [default: a
                                  column called label, class, target, y or species, else the last]
          --weight-column <NAME>  Column with a weight for every row, by name or position
          --format <NAME>         File format, e.g. csv, libsvm, parquet, arrow, npy, npz, mat [default:
                                  found out]
          --delimiter <SIGN>      What separates the columns of a text file: a sign, or comma,
                                  semicolon, tab, pipe, space (any number of them) [default: found out]
          --decimal <SIGN>        What stands before the fraction of numbers in a text file: `.` or `,`
                                  [default: found out]
          --thousands <SIGN>      What stands between groups of three digits, such as `.` in 1.234,5
                                  [default: found out]
          --dates <ORDER>         Order of day, month and year in dates such as 3/4/2021: dmy or mdy
                                  [default: found out]
          --comment <SIGN>        Leave out lines of a text file that begin with this sign, such as '#'
          --encoding <NAME>       Encoding of a text file, such as latin1 [default: UTF-8, or what a
                                  byte-order mark says]
          --header                The first line of a CSV file has column names [default: found out]
          --no-header             The first line of a CSV file is data

    Columns:
          --features <A,B,3-7>    Feature columns by name, position from 0 or range such as 3-7
                                  [default: all others]
          --drop <A,B,3-7>        Columns to leave out, likewise
          --keep <A,B,3-7>        Columns to use although they look like no features (constant, all
                                  different, counting the rows), likewise
          --categories <A,B,3-7>  Columns of numbers that are names, such as codes: a feature per value,
                                  as for text
          --missing <WAY>         What becomes of missing cells: one of indicator, mean, median,
                                  drop-rows, error; other words and numbers stand for a missing cell,
                                  besides an empty one, NA, N/A, NaN, null and ? [default: indicator]
          --most-values <N>       Most values of a text column that get a feature each; rarer ones share
                                  one [default: 100]
          --text <A,B,3-7>        Columns of free text, likewise: a feature per word, weighed by how
                                  rare it is (TF-IDF)
          --most-words <N>        Most words of such a column that get a feature [default: 10000]
          --time-parts <PARTS>    Parts of dates and times that get a feature per value besides the time
                                  itself: weekday, month, hour

    Model:
          --method <NAME>     Method [default: m3svm]
                              m3svm: M³SVM: pairwise hinge, class distances to the power p
                              ism3: ISM3: softmax, class distances to the power p
                              pairwise-lr: pairwise logistic, class distances to the power p
                              ovr: one-vs-rest hinge, ridge
                              ovo: one-vs-one hinge, ridge, votes
                              ww: Weston-Watkins: pairwise hinge, ridge
                              cs: Crammer-Singer: hinge of the best wrong class, ridge
                              msvm: Bredensteiner-Bennett M-SVM: pairwise hinge, squared class distances
                              and ridge
                              topk: top-k hinge of the k best classes, ridge
                              lr: multinomial logistic regression: softmax, ridge
                              smlr: sparse multinomial logistic regression: softmax, lasso
          --p <P>             Power of the penalty; large P lifts the smallest margin, and inf is about
                              nothing else [default: 4]
          --lambda <L>        Strength of the penalty; `auto` chooses it by a short cross-validation
                              [default: auto]
          --epsilon <E>       Tiny quadratic term that makes the optimum unique [default: 1e-6]
          --penalty <NAME>    Penalty, instead of the method's own: distances of class vectors in the
                              norm l2 or l1, plain ridge, lasso, elastic-net, or none [possible values:
                              l2, l1, pairwise-ridge, ridge, lasso, elastic-net, none]
          --kernel <NAME>     Kernel, for scores that are not linear: linear, rbf, polynomial,
                              laplacian, cosine, precomputed [default: linear]
          --gamma <G>         Gamma of the kernels rbf, polynomial and laplacian: `scale` (1/(features ×
                              variance)), `auto` (1/features), or a number [default: scale]
          --degree <N>        Degree of the polynomial kernel [default: 3]
          --coef0 <C>         Constant of the polynomial kernel [default: 0]
          --rank <R>          Most training rows that the kernel is approximated by [default: exact,
                              while the memory budget has room for it]
          --hard-margin       Allow no slack: the class vectors nearest to each other that give every
                              row the highest score at its own class. With `--p inf` their smallest
                              margin is the largest there is
          --no-intercept      Leave out the intercepts
          --scale <NAME>      Scaling of the features [default: standard] [possible values: standard,
                              maxabs, minmax, none]
          --class-weight <W>  Weights of classes: `balanced`, or NAME=W,NAME=W where the others count 1
          --delta <D>         Smoothing of the hinge, 0 for the exact one [default: 0.01, 0 for ovr ovo
                              ww cs msvm topk]
          --k <K>             How many of the best classes count (topk) [default: 2]
          --l1-ratio <L>      Share of absolute values in the elastic net, the rest are squares
                              [default: 0.5]

    Solver:
          --solver <NAME>       Solver [default: auto] [possible values: auto, newton, lbfgs, adam,
                                proximal, dual]
          --tol <T>             Relative duality gap at which to stop [default: 1e-8]
          --max-iter <N>        Most iterations [default: 500 newton, 50000 lbfgs, 500 adam, 500
                                proximal, 6000 dual]
          --seed <N>            Seed of the order of rows in adam [default: 0]
          --learning-rate <L>   Step size of adam [default: 0.01]
          --batch <B>           Rows per step of adam [default: all]
          --warm-start <MODEL>  Start from the weights of this model
          --explain             Show which solver would run and why, and train nothing

    Validation:
          --test <FILE>       Measure the accuracy on the rows of this file, which take no part in the
                              training
          --validation <HOW>  Rows of the data that are held out to measure the accuracy of models that
                              have not seen them: a share such as 0.2, a number of folds such as 10, or
                              none. The model itself is trained on all rows [default: 5 folds; 0.2 of
                              large data, none of huge data]
          --groups <COLUMN>   Column whose equal values mark rows that belong together, such as
                              recordings of one person: they are never divided between training and
                              held-out rows

    Output:
      -o, --output <MODEL>  Write the model to this file; `-` is standard output
          --json            Print the result as JSON
          --trace <FILE>    Write one CSV line per iteration as it ends: iteration, seconds, objective,
                            relative_gap; `-` is standard output
          --report <HTML>   Write a report with figures: one HTML file that needs no network

    Examples:
      m3svm train data.csv -o data.m3svm
      m3svm train data.csv --label kind --p 8 --lambda 1e-2 --json
      m3svm train data.csv --report data.html
      m3svm train 'data/*.parquet' --memory 2GB --cache /big/disk -o data.m3svm

    Data that does not fit into memory is decoded once and then read from a cache on disk.
    Ctrl-C ends the training and keeps the best model so far; a second Ctrl-C aborts.
    ");
}

#[test]
fn predict() {
    assert_snapshot!(Lab::iris().text("predict --help"), @"
    Predict the classes of a data file

    Usage: m3svm predict [OPTIONS] <MODEL> <FILE>...

    Arguments:
      <MODEL>    The model file
      <FILE>...  Data with or without labels; `-` is standard input. Several files, folders and patterns
                 such as 'data/*.parquet' are predicted one after the other, some rows at a time

    Options:
          --threads <N>    Threads to use [default: all cores]
          --memory <SIZE>  Most memory to take, such as 2GB or 512MiB [default: 80 % of what is free]
      -q, --quiet          Say nothing but results and errors: no notes, no warnings, no progress
      -h, --help           Print help
      -V, --version        Print version

    Data:
          --label <NAME|INDEX>    Label column by name or position from 0, -1 the last [default: a
                                  column called label, class, target, y or species, else the last]
          --weight-column <NAME>  Column with a weight for every row, by name or position
          --format <NAME>         File format, e.g. csv, libsvm, parquet, arrow, npy, npz, mat [default:
                                  found out]
          --delimiter <SIGN>      What separates the columns of a text file: a sign, or comma,
                                  semicolon, tab, pipe, space (any number of them) [default: found out]
          --decimal <SIGN>        What stands before the fraction of numbers in a text file: `.` or `,`
                                  [default: found out]
          --thousands <SIGN>      What stands between groups of three digits, such as `.` in 1.234,5
                                  [default: found out]
          --dates <ORDER>         Order of day, month and year in dates such as 3/4/2021: dmy or mdy
                                  [default: found out]
          --comment <SIGN>        Leave out lines of a text file that begin with this sign, such as '#'
          --encoding <NAME>       Encoding of a text file, such as latin1 [default: UTF-8, or what a
                                  byte-order mark says]
          --header                The first line of a CSV file has column names [default: found out]
          --no-header             The first line of a CSV file is data

    Output:
          --keep <A,B,3-7>  Columns of the data to hand on before the prediction, by name, position from
                            0 or range such as 3-7
      -o, --output <OUT>    Write to this file: CSV, or what its name says by .tsv, .jsonl, .parquet or
                            .arrow; text also with .gz [default: CSV to standard output]
          --scores          Add a column with the score of every class
          --proba           Add a column with the probability of every class
    ");
}

#[test]
fn evaluate() {
    assert_snapshot!(Lab::iris().text("evaluate --help"), @"
    Measure how well a model does on a data file with labels

    Usage: m3svm evaluate [OPTIONS] <MODEL> <FILE>...

    Arguments:
      <MODEL>    The model file
      <FILE>...  Data with labels; `-` is standard input. Several files, folders and patterns such as
                 'data/*.parquet' are one table

    Options:
          --threads <N>    Threads to use [default: all cores]
          --memory <SIZE>  Most memory to take, such as 2GB or 512MiB [default: 80 % of what is free]
      -q, --quiet          Say nothing but results and errors: no notes, no warnings, no progress
      -h, --help           Print help
      -V, --version        Print version

    Data:
          --label <NAME|INDEX>    Label column by name or position from 0, -1 the last [default: a
                                  column called label, class, target, y or species, else the last]
          --weight-column <NAME>  Column with a weight for every row, by name or position
          --format <NAME>         File format, e.g. csv, libsvm, parquet, arrow, npy, npz, mat [default:
                                  found out]
          --delimiter <SIGN>      What separates the columns of a text file: a sign, or comma,
                                  semicolon, tab, pipe, space (any number of them) [default: found out]
          --decimal <SIGN>        What stands before the fraction of numbers in a text file: `.` or `,`
                                  [default: found out]
          --thousands <SIGN>      What stands between groups of three digits, such as `.` in 1.234,5
                                  [default: found out]
          --dates <ORDER>         Order of day, month and year in dates such as 3/4/2021: dmy or mdy
                                  [default: found out]
          --comment <SIGN>        Leave out lines of a text file that begin with this sign, such as '#'
          --encoding <NAME>       Encoding of a text file, such as latin1 [default: UTF-8, or what a
                                  byte-order mark says]
          --header                The first line of a CSV file has column names [default: found out]
          --no-header             The first line of a CSV file is data
          --top-k <K>             Also count rows whose class is among the K best scores [default: the k
                                  of a topk model]

    Output:
          --json           Print the result as JSON
          --report <HTML>  Write a report with figures: one HTML file that needs no network
    ");
}

#[test]
fn usage_errors_have_exit_code_2() {
    let lab = Lab::iris();
    for arguments in [
        "",
        "fly",
        "train",
        "train iris.csv --p much",
        "train iris.csv --solver simplex",
        "train iris.csv --threads many",
        "train iris.csv --header --no-header",
        "train iris.csv --class-weight heavy",
        "predict iris.m3svm",
    ] {
        let output = lab.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(!output.stderr.is_empty());
    }
    let output = lab.run("train iris.csv --method svm");
    assert_snapshot!(stderr(&output), @"
    error: invalid value 'svm' for '--method <NAME>'
      [possible values: m3svm, ism3, pairwise-lr, ovr, ovo, ww, cs, msvm, topk, lr, smlr]

      tip: a similar value exists: 'msvm'

    For more information, try '--help'.
    ");
}

#[test]
fn manual_pages_and_completions_come_from_the_same_definitions() {
    let lab = Lab::iris();
    assert!(lab.text("man").contains("m3svm"));
    assert!(lab.text("man train").contains("warm"));
    assert_snapshot!(lab.error("man fly"), @"error: there is no command `fly`");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(lab.text(&format!("completions {shell}")).contains("warm-start"), "{shell}");
    }
}
