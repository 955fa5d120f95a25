//! Where to compute. The only place that names a backend of burn.

use anyhow::Result;
use burn_autodiff::Autodiff;
use burn_core::tensor::backend::AutodiffBackend;
use clap::ValueEnum;

/// A backend as users call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// All cores of this machine
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}

/// Something to do on a backend.
pub(crate) trait Work {
    fn run<B: AutodiffBackend>(self, device: B::Device) -> Result<()>;
}

pub(crate) fn with(name: BackendName, work: impl Work) -> Result<()> {
    match name {
        BackendName::Cpu => work.run::<Autodiff<burn_flex::Flex>>(burn_flex::FlexDevice),
        BackendName::Cuda => cuda(work),
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda(_work: impl Work) -> Result<()> {
    anyhow::bail!("this program was built without CUDA; build it with `--features cuda`, or choose `--backend cpu`")
}

#[cfg(feature = "cuda")]
fn cuda(work: impl Work) -> Result<()> {
    use burn_cuda::{Cuda, CudaDevice};
    let device = CudaDevice::default();
    anyhow::ensure!(usable(&device), "no CUDA device can be used on this machine; choose `--backend cpu`");
    work.run::<Autodiff<Cuda>>(device)
}

/// Whether something can be computed. The driver's loader panics where there is no driver.
#[cfg(feature = "cuda")]
fn usable(device: &burn_cuda::CudaDevice) -> bool {
    use burn_core::tensor::Tensor;
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let device = device.clone();
    let tried = std::thread::spawn(move || {
        let ones = Tensor::<burn_cuda::Cuda, 1>::ones([2], &device);
        ones.sum().into_data().iter::<f32>().next()
    });
    let found = tried.join();
    std::panic::set_hook(before);
    matches!(found, Ok(Some(2.0)))
}
