"""Models from measurements.

record, read_record        measured data: arrays or .csv, .npz, .mat, .json, .uff files, with units
spectra, frf               spectra and frequency responses of records, with coherence and standard deviation
modal                      frequency responses to a modal model (vector fitting), over orders
fitted_plant               the same as a plant to run, certify and vary
subspace                   records to a state space model (PO-MOESP, output error)
parameters                 parameters of a plant file from records and frequency responses together
multisine, doublets        experiments; `measure` makes a synthetic record of any plant
"""

from ..support.kinds import guarded as _guarded
from .experiment import Excitation, doublets, multisine, read_excitation
from .fitted import fitted_plant
from .frf import frf
from .grey_box import Identified, parameters
from .measure import measure
from .modal import ModalFit, modal
from .reading import read_record
from .reading_frf import read_frf
from .record import Record, record
from .response import MeasuredResponse, measured_response
from .spectra import Spectra, spectra
from .subspace import SubspaceFit, subspace

__all__ = [
    "Excitation",
    "Identified",
    "MeasuredResponse",
    "ModalFit",
    "Record",
    "Spectra",
    "SubspaceFit",
    "doublets",
    "fitted_plant",
    "frf",
    "measure",
    "measured_response",
    "modal",
    "multisine",
    "parameters",
    "read_excitation",
    "read_frf",
    "read_record",
    "record",
    "spectra",
    "subspace",
]

globals().update({name: _guarded(globals()[name], f"identify.{name}", __name__) for name in __all__})
