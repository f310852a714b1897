#!/usr/bin/env node
/** A camera that is not there, and the adapter for it: `npm run demo -- <data directory of the node>/devices.sock`. */
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

const PORT = 8802
const [path] = process.argv.slice(2)
if (path === undefined) {
  console.error('usage: npm run demo -- <data directory of the node>/devices.sock')
  process.exit(2)
}

/** A picture of the time. */
const picture = () =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="320" height="40"><text y="30">${new Date().toISOString()}</text></svg>`
createServer((_, response) => response.setHeader('Content-Type', 'image/svg+xml').end(picture())).listen(
  PORT,
  '127.0.0.1',
)

const file = name => fileURLToPath(new URL(name, import.meta.url))
const adapter = spawn(process.execPath, [file('camera.mjs'), file('settings.example.json'), path], {
  stdio: 'inherit',
})
adapter.on('exit', code => process.exit(code ?? 1))
console.log(`a camera at 127.0.0.1:${PORT}; Ctrl-C ends it. Try:
svc capability test device.read --args '{"device":"door","capability":"snapshot"}'
svc capability test device.read --args '{"device":"door","capability":"snapshot","content":true}'`)
