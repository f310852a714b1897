#!/usr/bin/env node
/**
 * The smallest adapter: a boiler that is not there, as a device of your node. `node boiler.mjs <data directory>/devices.sock`
 * connects; docs/devices.md says what each line means.
 */
import { connect } from 'node:net'

const RETRY_MS = 1000
const boiler = { temperature: 61.5, target: 60 }

const description = {
  type: 'describe',
  device: 'boiler',
  protocol: 'simulated',
  verify_trust: 2,
  auth_trust: 0,
  capabilities: [
    { capability: 'temperature', access: ['read', 'subscribe'], kind: 'number', unit: '°C' },
    { capability: 'target', access: ['read', 'write'], kind: 'number', unit: '°C', minimum: 5, maximum: 80 },
  ],
}

const open = path => {
  const socket = connect(path)
  const say = line => socket.write(`${JSON.stringify(line)}\n`)
  const watching = new Set()
  const obey = {
    welcome: () => say(description),
    read: ({ id, capability }) => say({ type: 'result', id, status: 'OK', value: boiler[capability] }),
    // what is answered is what the boiler has then, not what was asked of it
    write: ({ id, capability, value }) => {
      boiler[capability] = Math.min(value, 75)
      boiler.temperature = boiler.target + 1.5
      say({ type: 'result', id, status: 'OK', value: boiler[capability], native_ack: true })
      for (const each of watching) say({ type: 'event', id: each, value: boiler.temperature })
    },
    subscribe: ({ id }) => watching.add(id),
    unsubscribe: ({ id }) => watching.delete(id),
    refused: ({ error }) => console.error(`the node refused: ${error}`),
  }
  socket.on('connect', () => say({ type: 'hello', version: 1, adapter: 'boiler' }))
  let rest = ''
  socket.setEncoding('utf8').on('data', text => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines.map(one => JSON.parse(one))) obey[line.type]?.(line)
  })
  socket.on('error', ({ message }) => console.error(message))
  socket.on('close', () => setTimeout(() => open(path), RETRY_MS))
}

open(process.argv[2])
