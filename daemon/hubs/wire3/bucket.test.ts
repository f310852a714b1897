/** A bucket of the directory is read whole, or is said not to be; a hub that this test plays. */
import { mkdtempSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { toBase64url } from '../../../protocol/encoding/bytes.ts'
import { systemTimers } from '../../../protocol/timers.ts'
import { openIdentity } from '../../identity/identity.ts'
import { Connections } from '../http.ts'
import { Publication } from '../publication.ts'
import { Wire3Hub } from './hub.ts'

const now = 1_780_000_000_000
const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
const identityIn = (name: string) =>
  openIdentity(mkdtempSync(join(tmpdir(), `svc-${name}-`)), { now: () => now, random })
const own = identityIn('bucket')
const other = identityIn('other')
const connections = new Connections()
const HASH = new Uint8Array(32).fill(0xab)

type Asked = { prefix: string; bits: number; cursor?: string }
type Answer = { status?: number; body: object }
let server: Server
let hub: Wire3Hub
let asked: Asked[] = []
let answer: (question: Asked) => Answer

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = ''
    request.on('data', part => {
      text += part
    })
    request.on('end', () => {
      const question = JSON.parse(text) as Asked
      asked.push(question)
      const { status = 200, body } = answer(question)
      response.writeHead(status, { 'X-Svc-Wire': '3', 'Content-Type': 'application/json' })
      response.end(JSON.stringify(body))
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
})
beforeEach(() => {
  asked = []
  const { aid, log } = other
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const inputs = { identity: own, connections, now: () => now, timers: systemTimers, random, spoolFolder: '' }
  hub = new Wire3Hub(url, { aid, wire: 3, log, bitsMax: 2 }, { ...inputs, publication: new Publication() })
})
afterAll(async () => {
  await connections.close()
  server.closeAllConnections()
  await new Promise<void>(done => server.close(() => done()))
})

const cursorOf = (n: number) => toBase64url(new Uint8Array(32).fill(n))
const entry = (n: number) => ({
  h: cursorOf(n),
  box: toBase64url(new Uint8Array([n])),
})
const page = (entries: object[], more: object = {}): Answer => ({ body: { max_bits: 2, entries, ...more } })
const firstBytes = (entries: { h: Uint8Array }[]) => entries.map(({ h }) => h[0])

test('every page of it is read, and one page that is incomplete makes it so', async () => {
  const pages = [page([entry(1)], { next: cursorOf(7), partial: true }), page([entry(2)])]
  answer = () => pages[asked.length - 1] as Answer
  const { entries, partial } = await hub.bucket(HASH)
  expect(firstBytes(entries)).toEqual([1, 2])
  expect(partial).toBe(true)
  expect(asked.map(({ cursor }) => cursor)).toEqual([undefined, cursorOf(7)])
})

test('one whose pages do not end is incomplete', async () => {
  answer = () => page([entry(1)], { next: cursorOf(asked.length) })
  expect((await hub.bucket(HASH)).partial).toBe(true)
  answer = () => page([entry(1)])
  expect((await hub.bucket(HASH)).partial).toBe(false)
})

test('one that the hub made wider in between is read from its beginning', async () => {
  answer = ({ bits, cursor }) => {
    if (bits === 1) return page([entry(1), entry(2)], { max_bits: 1 })
    if (cursor === undefined) return page([entry(1)], { next: cursorOf(7) })
    return { status: 400, body: { reason: 'bucket_too_narrow', error: 'too narrow', max_bits: 1 } }
  }
  const { entries, bits, partial } = await hub.bucket(HASH)
  expect(firstBytes(entries)).toEqual([1, 2])
  expect({ bits, partial }).toEqual({ bits: 1, partial: false })
  expect(asked.at(-1)).not.toHaveProperty('cursor')
})
