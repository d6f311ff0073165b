"""The public names, the one list of them."""

from .convolutions import convolve as convolve
from .convolutions import convolve2d as convolve2d
from .convolutions import correlate as correlate
from .convolutions import correlate2d as correlate2d
from .convolutions import fftconvolve as fftconvolve
from .detrending import detrend as detrend
from .short_time_fourier import istft as istft
from .short_time_fourier import stft as stft
from .spectral_density import csd as csd
from .spectral_density import welch as welch
