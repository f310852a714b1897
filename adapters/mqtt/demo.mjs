#!/usr/bin/env node
/** A lamp and a sensor that are not there, at a broker of yours: `npm run demo -- <data directory of the node>/devices.sock`. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { givenSocket, runAll } from '../link/demo.mjs'

const path = givenSocket()
const file = name => fileURLToPath(new URL(name, import.meta.url))
const { url } = JSON.parse(readFileSync(file('settings.example.json'), 'utf8'))
runAll([
  [file('bridge.mjs'), url],
  [file('mqtt.mjs'), file('settings.example.json'), path],
])
console.log(`devices at ${url}; Ctrl-C ends them. Try:
svc capability test device.list
svc capability test device.write --args '{"device":"0x00124b0000000001","capability":"brightness","value":120}'`)
