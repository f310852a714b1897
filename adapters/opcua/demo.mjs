#!/usr/bin/env node
/** A plant that is not there, and the adapter for it: `npm run demo -- <data directory of the node>/devices.sock`. */
import { fileURLToPath } from 'node:url'
import { givenSocket, runAll } from '../link/demo.mjs'

const path = givenSocket()
const file = name => fileURLToPath(new URL(name, import.meta.url))
runAll([
  [file('plant.mjs'), '4840'],
  [file('opcua.mjs'), file('settings.example.json'), path],
])
console.log(`Ctrl-C ends both. Try:
svc capability test device.list
svc capability test device.write --args '{"device":"plant","capability":"target","value":70}'
svc capability test device.write --args '{"device":"plant","capability":"target","value":80}'`)
