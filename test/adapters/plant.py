"""A heating plant as a Modbus TCP server, by another implementation than that of the adapter: plant.py <port> <model>."""
import struct
import sys

from pymodbus.datastore import ModbusSequentialDataBlock, ModbusServerContext, ModbusSlaveContext
from pymodbus.device import ModbusDeviceIdentification
from pymodbus.server import StartTcpServer

TARGET, TARGET_MAX = 10, 750


class Holding(ModbusSequentialDataBlock):
    """The target is 75 degrees at most, whatever is written."""

    def setValues(self, address, values):
        values = [min(v, TARGET_MAX) if address + n == TARGET + 1 else v for n, v in enumerate(values)]
        super().setValues(address, values)


port, model = int(sys.argv[1]), sys.argv[2]
inputs = ModbusSequentialDataBlock(1, [0] * 100)
inputs.setValues(1, [615])  # 61.5 degrees in tenths
inputs.setValues(3, [0x10000 - 55])  # minus 5.5
inputs.setValues(5, list(struct.unpack(">2H", struct.pack(">f", 1.25))))
inputs.setValues(7, list(reversed(struct.unpack(">2H", struct.pack(">I", 123456)))))
plant = ModbusSlaveContext(
    di=ModbusSequentialDataBlock(1, [1] + [0] * 99),
    co=ModbusSequentialDataBlock(1, [0] * 100),
    hr=Holding(1, [0] * 100),
    ir=inputs,
)
identity = ModbusDeviceIdentification(info_name={"VendorName": "Plants", "ProductCode": model, "ModelName": model})
StartTcpServer(
    context=ModbusServerContext(slaves=plant, single=True),
    identity=identity,
    address=("127.0.0.1", port),
    allow_reuse_address=True,
)
