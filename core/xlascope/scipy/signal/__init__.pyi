"""The public names, the one list of them."""

from .convolutions import convolve as convolve
from .convolutions import convolve2d as convolve2d
from .convolutions import correlate as correlate
from .convolutions import correlate2d as correlate2d
from .convolutions import fftconvolve as fftconvolve
from .short_time import istft as istft
from .short_time import stft as stft
from .spectra import csd as csd
from .spectra import welch as welch
from .trends import detrend as detrend
