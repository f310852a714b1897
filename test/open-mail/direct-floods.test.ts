/** Envelopes that come to an address without a hub: what is read of them before anything lets them in. */
import * as net from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { DirectServer, LetterRefused } from '../../daemon/p2p/serve/server.ts'
import { DIRECT_ENVELOPE_BYTES_MAX, directEnvelope } from '../../protocol/contract/direct.ts'
import { systemTimers } from '../../protocol/timers.ts'

const MIB = 1024 * 1024
const confirmation = Buffer.alloc(540).toString('base64')

let server: DirectServer
let port: number
let isLetIn: boolean
let judged: { bytes: number; size: number }[]
let taken: number[]
/** What the node waits for before it answers. */
let handing: Promise<void> | undefined
beforeAll(async () => {
  server = new DirectServer(
    {
      letter: async () => confirmation,
      async admit(head, size) {
        judged.push({ bytes: head.length, size })
        if (!isLetIn) throw new LetterRefused('not_admitted')
      },
      async envelope(envelope) {
        taken.push(envelope.length)
        await handing
        return confirmation
      },
    },
    systemTimers,
  )
  port = Number(new URL(`http://${await server.listen('127.0.0.1', 0)}`).port)
})
afterAll(() => server.close())
beforeEach(async () => {
  isLetIn = true
  judged = []
  taken = []
  handing = undefined
  // so many are taken in each second
  await new Promise(done => setTimeout(done, 1000))
})

type Given = { length: number; first?: Uint8Array; rest?: Uint8Array }
/** Sends a part of what it says it would; the status, and how many bytes this machine could send before the answer. */
const send = ({ length, first = new Uint8Array(length), rest }: Given) =>
  new Promise<number>(resolve => {
    let said = ''
    const socket = net.connect(port, '127.0.0.1', () => {
      socket.write(`POST ${directEnvelope.path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`)
      socket.write(first)
      if (rest !== undefined) socket.write(rest)
    })
    socket.on('data', chunk => {
      said += chunk.toString()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1])))
  })

test('one that is let in is read whole', async () => {
  expect(await send({ length: 3 * MIB })).toBe(200)
  expect([judged, taken]).toEqual([[{ bytes: 4096, size: 3 * MIB }], [3 * MIB]])
  expect(await send({ length: 100 })).toBe(200)
  expect(taken).toEqual([3 * MIB, 100])
})

test('one that nothing lets in is read no further, whatever it says', async () => {
  isLetIn = false
  expect(await send({ length: DIRECT_ENVELOPE_BYTES_MAX, first: new Uint8Array(4096) })).toBe(403)
  expect([judged.length, taken]).toEqual([1, []])
})

test('one that is too large is refused before a byte of it came', async () => {
  expect(await send({ length: DIRECT_ENVELOPE_BYTES_MAX + 1, first: new Uint8Array(0) })).toBe(413)
  expect(judged).toEqual([])
})

test('first bytes that do not come are ended after seconds, and hold up nobody', async () => {
  const slow = Array.from({ length: 7 }, () => send({ length: 5000, first: new Uint8Array(10) }))
  await new Promise(done => setTimeout(done, 100))
  expect(await send({ length: 5000 })).toBe(200)
  expect(await Promise.all(slow)).toEqual(Array(7).fill(408))
})

test('one that is let in and then does not come is ended, and leaves its place', async () => {
  const slow = Array.from({ length: 4 }, () => send({ length: 5000, first: new Uint8Array(4096) }))
  expect(await Promise.all(slow)).toEqual(Array(4).fill(408))
  expect(await send({ length: 5000 })).toBe(200)
})

test('so many are read at once, and those that nothing lets in take no place of theirs', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  handing = promise
  const four = Array.from({ length: 4 }, () => send({ length: 5000 }))
  await new Promise(done => setTimeout(done, 200))
  const late = send({ length: 5000 })
  await new Promise(done => setTimeout(done, 200))
  expect([judged.length, taken.length]).toEqual([5, 4])
  isLetIn = false
  expect(await send({ length: 5000 })).toBe(403)
  expect(await late).toBe(503)
  resolve()
  expect(await Promise.all(four)).toEqual(Array(4).fill(200))
})

test('a flood of requests is told to go by the hub, and the next second takes again', async () => {
  isLetIn = false
  const statuses: number[] = []
  for (let i = 0; i < 60 && !statuses.includes(503); i++)
    statuses.push(...(await Promise.all(Array.from({ length: 6 }, () => send({ length: 100 })))))
  expect(new Set(statuses)).toEqual(new Set([403, 503]))
  expect(judged.length).toBeLessThanOrEqual(400)
  await new Promise(done => setTimeout(done, 1000))
  isLetIn = true
  expect(await send({ length: 100 })).toBe(200)
})
