/** What a node takes of the account that a hub tells it, and how long it waits for it; a hub that this test plays. */
import { mkdtempSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ForeignAnswer } from '../../../protocol/contract/client.ts'
import { networkOf } from '../../../protocol/proof/payment.ts'
import { systemTimers } from '../../../protocol/timers.ts'
import { LEDGER_LIMIT_MAX } from '../../../protocol/wire3/routes/credits.ts'
import { openIdentity } from '../../identity/identity.ts'
import { Connections } from '../http.ts'
import type { HubIdentity } from '../hub.ts'
import { Publication } from '../publication.ts'
import { Wire3Hub } from './hub.ts'

const now = 1_780_000_000_000
const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
const identityIn = (name: string) =>
  openIdentity(mkdtempSync(join(tmpdir(), `svc-${name}-`)), { now: () => now, random })
const own = identityIn('account')
const other = identityIn('other')
const connections = new Connections()

let server: Server
let hub: Wire3Hub
let balance: object
let ledger: object
let paths: string[] = []
let answer: (response: ServerResponse, reply: object) => void
const entry = (more: object = {}) => ({ seq: 1, at: now, delta: 1, reason: 'grant', ...more })
const told = (response: ServerResponse, reply: object) => {
  response.writeHead(200, { 'X-Svc-Wire': '3', 'Content-Type': 'application/json' })
  response.end(JSON.stringify(reply))
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? ''
    paths.push(path)
    if (path.includes('/balance')) answer(response, balance)
    else told(response, path.includes('/ledger') ? ledger : { status: 'profile_updated' })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
})
beforeEach(() => {
  paths = []
  answer = told
  const { aid, log } = other
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const identity: HubIdentity = { aid, wire: 3, log, bitsMax: 0 }
  const inputs = { identity: own, connections, now: () => now, timers: systemTimers, random, spoolFolder: '' }
  hub = new Wire3Hub(url, identity, { ...inputs, publication: new Publication() })
  balance = { aid: own.aid, network: networkOf(aid), balance: 100, held: 0 }
  ledger = { aid: own.aid, window_days: 90, oldest_seq: 1, entries: [entry()] }
})
afterAll(async () => {
  await connections.close()
  server.closeAllConnections()
  await new Promise<void>(done => server.close(() => done()))
})

const account = (entriesMax = 20) => hub.credits.account(entriesMax, AbortSignal.timeout(5000))

test('an account has as many entries as were asked for, whatever the hub adds', async () => {
  ledger = { ...ledger, entries: Array.from({ length: 30 }, (_, seq) => entry({ seq, delta: seq + 1 })) }
  const { entries } = await account()
  expect(entries.map(({ delta }) => delta)).toEqual(Array.from({ length: 20 }, (_, seq) => seq + 1))
})

test('the account of another agent, or credits of another hub, are not told as ours', async () => {
  const whole = { balance, ledger }
  const wrong = [
    { balance: { ...balance, aid: other.aid } },
    { ledger: { ...ledger, aid: other.aid } },
    { balance: { ...balance, network: networkOf(own.aid) } },
    { balance: { ...balance, network: 'eip155:1' } },
  ]
  for (const one of wrong) {
    ;({ balance, ledger } = { ...whole, ...one })
    const thrown = await account().catch((error: unknown) => error)
    expect(thrown).toBeInstanceOf(ForeignAnswer)
    expect(String(thrown)).toMatch(/the hub told the (account of another agent|credits of another hub)/)
  }
})

test('texts, times and the number of entries are bounded', async () => {
  const long = 'x'.repeat(129)
  const wrong = [
    { balance: { ...balance, network: networkOf(long) } },
    { balance: { ...balance, probation_until: Number.MAX_SAFE_INTEGER } },
    { ledger: { ...ledger, next: long } },
    { ledger: { ...ledger, entries: Array.from({ length: LEDGER_LIMIT_MAX + 1 }, () => entry()) } },
    ...[{ reason: long }, { transaction: long }, { at: Number.MAX_SAFE_INTEGER }].map(one => ({
      ledger: { ...ledger, entries: [entry(one)] },
    })),
  ]
  const whole = { balance, ledger }
  for (const one of wrong) {
    ;({ balance, ledger } = { ...whole, ...one })
    await expect(account(), JSON.stringify(one).slice(0, 200)).rejects.toThrow(/expected members/)
  }
})
