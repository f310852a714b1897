#!/usr/bin/env node
/** A heating plant that is not there, and the adapter for it: `npm run demo -- <data directory of the node>/devices.sock`. */
import { fileURLToPath } from 'node:url'
import modbus from 'modbus-serial'
import { givenSocket, runAll } from '../link/demo.mjs'

const PORT = 5020
const path = givenSocket()

const registers = { 0: 615, 10: 600 }
const coils = { 0: true }
new modbus.ServerTCP(
  {
    getInputRegister: address => registers[address] ?? 0,
    getHoldingRegister: address => registers[address] ?? 0,
    getCoil: address => coils[address] ?? false,
    // the target is 75 degrees at most, whatever is written
    setRegister: (address, value) => {
      registers[address] = Math.min(value, 750)
    },
    setCoil: (address, value) => {
      coils[address] = value
    },
  },
  { host: '127.0.0.1', port: PORT, unitID: 1 },
)

const file = name => fileURLToPath(new URL(name, import.meta.url))
runAll([[file('modbus.mjs'), file('settings.example.json'), path]])
console.log(`a plant at 127.0.0.1:${PORT}; Ctrl-C ends it. Try:
svc capability test device.list
svc capability test device.write --args '{"device":"boiler","capability":"target","value":70}'
svc capability test device.write --args '{"device":"boiler","capability":"target","value":80}'`)
