/** The doctor asks each peer who it is, what time it has, and whether it lists this hub. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { IDENTITY_FILE, NEXT_FILE, rotateIdentity } from '../core/identity.ts'
import { random, startTestHub, type TestHub, type TestHubOptions } from '../testing/hub.ts'
import { checkPeers } from './doctor-peers.ts'
import { clearingInFile } from './doctor-store.ts'

const HOUR_MS = 3_600_000

/** What this hub does itself is looked at where that is said. */

let here: TestHub
let there: TestHub
beforeEach(async () => {
  ;[here, there] = [await startTestHub(), await startTestHub()]
})
afterEach(async () => {
  await Promise.all([here.close(), there.close()])
})

const kelOf = (hub: TestHub): string => toBase64url(encodeKel(hub.running.hub.context.identity.kel.events))
const list = async (at: TestHub, peer: TestHub, url = peer.url): Promise<unknown> =>
  await at.running.order({ command: 'peers', add: { url, kel: kelOf(peer) } })
const found = async (): Promise<string[]> =>
  (
    await checkPeers(here.directory, here.aid, { clearingOf: clearingInFile(here.directory, true), own: [] })
  ).map(({ state, found }) => `${state}: ${found}`)

test('a hub without peers has nothing to say of them', async () => {
  expect(await found()).toEqual([])
})

test('two hubs that list each other are well', async () => {
  await Promise.all([list(here, there), list(there, here)])
  expect(await found()).toEqual([`ok: ${there.url} is ${there.aid}, lists this hub`])
})

test('a peer that does not list this hub is named, with what its operator does', async () => {
  await list(here, there)
  expect(await found()).toEqual([
    `wrong: ${there.url} does not list this hub, so neither hands mail on to the other`,
  ])
})

test('a peer for open mail alone is asked where it takes that', async () => {
  const old = await startTestHub({ wires: [1], wire1Federation: { tells: false } })
  await here.running.order({ command: 'peers', add: { open_url: old.url, kel: kelOf(old) } })
  expect(await found()).toEqual([
    `wrong: ${old.url} does not list this hub, so neither hands mail on to the other`,
  ])
  await old.running.order({ command: 'peers', add: { url: here.url, kel: kelOf(here) } })
  expect(await found()).toEqual([`ok: ${old.url} is ${old.aid}, lists this hub`])
  const { peers } = await here.running.order({ command: 'peers' })
  expect(peers).toMatchObject([{ aid: old.aid, open_url: old.url }])
  await here.running.order({ command: 'peers', remove: old.aid })
  await here.running.order({ command: 'peers', add: { open_url: old.url, kel: kelOf(there) } })
  expect(await found()).toEqual([`wrong: at ${old.url} another hub answers than ${there.aid}`])
  const add = { url: there.url, open_url: old.url, kel: kelOf(there) }
  await list(there, here)
  await here.running.order({ command: 'peers', remove: there.aid })
  await here.running.order({ command: 'peers', add })
  expect(await found()).toEqual([
    `ok: ${there.url} is ${there.aid}, lists this hub`,
    `wrong: at ${old.url} another hub answers than ${there.aid}`,
  ])
  await old.close()
})

test('a peer that exchanges no open mail is named, with the switch that its operator sets', async () => {
  const old = await startTestHub({ wires: [1] })
  await here.running.order({ command: 'peers', add: { open_url: old.url, kel: kelOf(old) } })
  const [finding] = await checkPeers(here.directory, here.aid, {
    clearingOf: clearingInFile(here.directory, true),
    own: [],
  })
  expect(finding).toMatchObject({
    state: 'wrong',
    found: `${old.url} exchanges no open mail with other hubs`,
    mend: 'its operator starts it with: svc-hub serve --wire1-federation',
  })
  await old.close()
})

test.each([
  [
    'is not told of it where it exchanges open mail itself',
    { wires: [1], wire1Federation: { tells: false } },
    [],
  ],
  [
    'is named itself where it was started without that',
    { wires: [1] },
    ['this hub lists a peer for open mail, and exchanges no open mail itself'],
  ],
  [
    'is named itself where it carries no open mail',
    {},
    ['this hub lists a peer for open mail, and carries no open mail itself'],
  ],
] as [string, TestHubOptions, string[]][])(
  'a hub that lists a peer for open mail %s',
  async (_, options, expected) => {
    const own = await startTestHub(options)
    const peer = await startTestHub({ wires: [1], wire1Federation: { tells: false } })
    await own.running.order({ command: 'peers', add: { open_url: peer.url, kel: kelOf(peer) } })
    const findings = await checkPeers(own.directory, own.aid, {
      clearingOf: clearingInFile(own.directory, false),
      own: [own.url],
    })
    expect(findings.slice(1).map(({ found }) => found)).toEqual(expected)
    await Promise.all([own.close(), peer.close()])
  },
)

test('a peer whose clock is an hour off is named with both clocks to compare', async () => {
  await Promise.all([list(here, there), list(there, here)])
  there.clock.advance(HOUR_MS)
  expect((await found())[0]).toMatch(/^wrong: the clock of .* is 3\d\d\d s ahead of this machine's/)
})

test('another hub at the address of a peer is not taken for it', async () => {
  await list(here, there, here.url)
  expect(await found()).toEqual([`wrong: at ${here.url} another hub answers than ${there.aid}`])
})

test('a peer that is away, or answers with a page, is named with its address', async () => {
  const server = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1')
  await new Promise<void>(done => server.once('listening', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await list(here, there, url)
  expect((await found())[0]).toMatch(`wrong: ${url} gives no usable answer`)
  await new Promise(done => server.close(done))
  expect((await found())[0]).toMatch(`wrong: ${url} gives no usable answer: nothing listens there`)
})

test('a list that cannot be used is named with its file', async () => {
  writeFileSync(join(here.directory, 'federation.json'), '{"peers": 1}')
  expect((await found())[0]).toMatch(/^wrong: .*federation\.json cannot be used/)
  writeFileSync(join(here.directory, 'federation.json'), '{"peers": []}')
})

test('a peer that rotated its key is followed, and one that was put back to before it is named', async () => {
  const before = there.running.hub.context.identity
  const files = [IDENTITY_FILE, NEXT_FILE].map(file => join(there.directory, file))
  const kept = files.map(file => readFileSync(file))
  await there.restart(() => void rotateIdentity(there.directory, before, Date.now, random))
  const rotated = kelOf(there)
  await here.running.order({ command: 'peers', add: { url: there.url, kel: toBase64url(before.kelBytes) } })
  await list(there, here)
  expect((await found())[0]).toMatch(/lists this hub, has rotated its key, and is followed at its next call$/)

  await there.restart(() => {
    for (const [at, file] of files.entries()) writeFileSync(file, kept[at] as Uint8Array)
  })
  await here.running.order({ command: 'peers', add: { url: there.url, kel: rotated } })
  expect((await found())[0]).toMatch(/^wrong: .* shows an older key history than the one held/)
})
