#!/usr/bin/env node
/** A plant that is not there, and the adapter for it: `npm run demo -- <data directory of the node>/devices.sock`. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const [path] = process.argv.slice(2)
if (path === undefined) {
  console.error('usage: npm run demo -- <data directory of the node>/devices.sock')
  process.exit(2)
}
const file = name => fileURLToPath(new URL(name, import.meta.url))
const start = (...args) => spawn(process.execPath, args, { stdio: 'inherit' })
const children = [
  start(file('plant.mjs'), '4840'),
  start(file('opcua.mjs'), file('settings.example.json'), path),
]
for (const child of children) child.on('exit', code => process.exit(code ?? 1))
process.on('exit', () => children.map(child => child.kill()))
console.log(`Ctrl-C ends both. Try:
svc capability test device.list
svc capability test device.write --args '{"device":"plant","capability":"target","value":70}'
svc capability test device.write --args '{"device":"plant","capability":"target","value":80}'`)
