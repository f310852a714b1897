#!/usr/bin/env node
/**
 * A service that a node can offer to others as a capability: it answers what it is asked over HTTP, on this machine only.
 * `node thermometer.mjs 8801` listens; docs/providers.md says what comes in and what may go out.
 */
import { createServer } from 'node:http'

const READINGS = { cellar: 11.5, attic: 27.25 }

const answer = async request => {
  const parts = []
  for await (const part of request) parts.push(part)
  const { capability, args } = JSON.parse(Buffer.concat(parts).toString('utf8'))
  if (capability !== 'sensor.temperature') return [404, {}]
  const reading = READINGS[args.room]
  if (reading === undefined) return [404, { error: `there is no room ${args.room}` }]
  // numbers at the top become metrics; the rest is what was observed
  return [200, { celsius: reading, room: args.room, protocol: 'onewire', native_ack: true }]
}

const server = createServer((request, response) => {
  answer(request).then(
    ([status, body]) => {
      response.writeHead(status, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(body))
    },
    () => response.writeHead(400).end(),
  )
})
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`)
})
