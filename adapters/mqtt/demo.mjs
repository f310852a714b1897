#!/usr/bin/env node
/** A lamp and a sensor that are not there, at a broker of yours: `npm run demo -- <data directory of the node>/devices.sock`. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [path] = process.argv.slice(2)
if (path === undefined) {
  console.error('usage: npm run demo -- <data directory of the node>/devices.sock')
  process.exit(2)
}
const file = name => fileURLToPath(new URL(name, import.meta.url))
const { url } = JSON.parse(readFileSync(file('settings.example.json'), 'utf8'))
const start = (...args) => spawn(process.execPath, args, { stdio: 'inherit' })
const children = [
  start(file('bridge.mjs'), url),
  start(file('mqtt.mjs'), file('settings.example.json'), path),
]
for (const child of children) child.on('exit', code => process.exit(code ?? 1))
process.on('exit', () => children.map(child => child.kill()))
console.log(`devices at ${url}; Ctrl-C ends them. Try:
svc capability test device.list
svc capability test device.write --args '{"device":"0x00124b0000000001","capability":"brightness","value":120}'`)
