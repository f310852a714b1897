#!/usr/bin/env node
/** A camera that is not there, and the adapter for it: `npm run demo -- <data directory of the node>/devices.sock`. */
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { givenSocket, runAll } from '../link/demo.mjs'

const PORT = 8802
const path = givenSocket()

/** A picture of the time. */
const picture = () =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="320" height="40"><text y="30">${new Date().toISOString()}</text></svg>`
createServer((_, response) => response.setHeader('Content-Type', 'image/svg+xml').end(picture())).listen(
  PORT,
  '127.0.0.1',
)

const file = name => fileURLToPath(new URL(name, import.meta.url))
runAll([[file('camera.mjs'), file('settings.example.json'), path]])
console.log(`a camera at 127.0.0.1:${PORT}; Ctrl-C ends it. Try:
svc capability test device.read --args '{"device":"door","capability":"snapshot"}'
svc capability test device.read --args '{"device":"door","capability":"snapshot","content":true}'`)
