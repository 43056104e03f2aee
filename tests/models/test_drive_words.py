"""What a plant file says of a drive is used, or named."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import flexctl as fx
from flexctl.machine.drives import DriveCaution


class TestUnused:
    """What a plant file says of a motor is used, or named."""

    @pytest.mark.parametrize(("drive", "named"), [("torque", "resistance, max_current"), ("motion", "max_current")])
    def test_a_winding_that_no_voltage_drives(self, drive: str, named: str) -> None:
        motor = fx.Motor(torque_constant=0.1, resistance=2.0 * (drive == "torque"), max_current=3.0)
        with pytest.warns(DriveCaution, match=f'^{named} of the motor: no effect .* drive = "{drive}"'):
            fx.Joint(drive=drive, motor=motor)

    @pytest.mark.parametrize(("table", "key"), [("motor", "motor"), ("friction", "friction_law")])
    def test_a_table_that_no_joint_names(self, tmp_path: Any, table: str, key: str) -> None:
        own = "gear_ratio = 50.0" if table == "motor" else "coulomb = 0.1"
        link = "[[link]]\nlength = 0.5\nbending_stiffness = 2.0\nmass_per_length = 0.2\n"
        rest = f'[{table}.one]\n{own}\n[model]\nkind = "timoshenko_planar"\n'
        (tmp_path / "arm.toml").write_text(f"{link}[[joint]]\nhub_inertia = 0.01\n{rest}")
        with pytest.warns(DriveCaution, match=rf"^\[{table}.one\] has no effect: .* {key} = "):
            fx.load_plant(tmp_path / "arm.toml")
        (tmp_path / "arm.toml").write_text(f'{link}[[joint]]\nhub_inertia = 0.01\n{key} = "one"\n{rest}')
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fx.load_plant(tmp_path / "arm.toml")

    def test_static_friction_that_creeping_hides(self) -> None:
        law = {"coulomb": 0.1, "static": 0.15, "stribeck_rate": 0.05}
        with pytest.warns(DriveCaution, match=r"static = 0.15 N m is not reached: .* at most 0.101 N m"):
            fx.Friction("tanh", creep_rate=0.04, **law)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fx.Friction("tanh", creep_rate=0.005, **law)

    def test_an_amplifier_for_currents_has_no_limit_of_voltage(self) -> None:
        motor = fx.Motor(torque_constant=0.1, resistance=2.0, max_current=3.0, max_voltage=5.0)
        with pytest.warns(DriveCaution, match="^max_voltage of the motor"):
            fx.Joint(drive="current", motor=motor)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fx.Joint(drive="voltage", motor=motor)
