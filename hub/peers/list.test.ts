import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { incept, rotate, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { FEDERATION_FILE, type Peer, Peers } from '../core/federation/peers.ts'
import { random } from '../testing/hub.ts'
import { openPeers, PEERS_MAX, PeerList, PeersRefused } from './list.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-hub-peers-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const path = () => join(folder, FEDERATION_FILE)
const log = (): VerifiedKel => incept({ seed: random(32), nextSeed: random(32), ts: 1000 })
const peer = (n = 1) => {
  const made = log()
  return { aid: made.aid, url: `https://hub${n}.example`, log: made }
}
const aids = (peers: Peers) => peers.all.map(({ aid }) => aid)

test('without a file there are no peers, and none is made', () => {
  expect(openPeers(folder).peers.all).toEqual([])
  expect(existsSync(path())).toBe(false)
})

test('a peer that was listed is known after a start, by its key history, and is nobody else’s to read', () => {
  const one = peer()
  openPeers(folder).peerList.add(one)
  const { peers } = openPeers(folder)
  expect(peers.find(one.aid)).toMatchObject({ url: one.url, log: { aid: one.aid, seq: 0 } })
  expect(statSync(path()).mode & 0o777).toBe(0o600)
})

test('a peer that is listed again has its new address, and two cannot share one', () => {
  const { peers, peerList } = openPeers(folder)
  const [one, two] = [peer(1), peer(2)]
  peerList.add(one)
  peerList.add({ ...one, url: 'https://moved.example' })
  expect(peers.all.map(({ url }) => url)).toEqual(['https://moved.example'])
  expect(() => peerList.add({ ...two, url: 'https://moved.example' })).toThrow('another peer is listed at')
})

test('a peer has an address for open mail beside the other one, or alone, and keeps it when it moves', () => {
  const { peers, peerList } = openPeers(folder)
  const [one, two] = [peer(1), peer(2)]
  peerList.add({ ...one, openUrl: 'https://old1.example' })
  peerList.add({ ...two, url: 'https://old2.example', openUrl: 'https://old2.example', isOpenOnly: true })
  peerList.add({ ...one, url: 'https://moved.example' })
  const held = openPeers(folder).peers
  const shown = ({ url, openUrl, isOpenOnly }: Peer) => [url, openUrl, isOpenOnly]
  expect(held.all.map(shown)).toEqual([
    ['https://old2.example', 'https://old2.example', true],
    ['https://moved.example', 'https://old1.example', undefined],
  ])
  expect(held.sealed.map(({ aid }) => aid)).toEqual([one.aid])
  expect(JSON.parse(readFileSync(path(), 'utf8')).peers[0]).not.toHaveProperty('url')
  peerList.add({ ...one, url: 'https://old3.example', openUrl: 'https://old3.example', isOpenOnly: true })
  expect(peers.find(one.aid)).toMatchObject({ url: 'https://moved.example', openUrl: 'https://old3.example' })
  expect(peers.sealed).toHaveLength(1)
  expect(() => peerList.add({ ...peer(4), openUrl: 'https://old3.example' })).toThrow(
    'another peer is listed',
  )
})

test('a peer without any address is refused', () => {
  openPeers(folder).peerList.add(peer())
  const held = JSON.parse(readFileSync(path(), 'utf8')) as { peers: Record<string, unknown>[] }
  delete held.peers[0]?.['url']
  writeFileSync(path(), JSON.stringify(held))
  expect(() => openPeers(folder)).toThrow('has neither url nor wire1_url')
})

test('a peer is taken off once', () => {
  const { peers, peerList } = openPeers(folder)
  const one = peer()
  peerList.add(one)
  expect([peerList.remove(one.aid), peerList.remove(one.aid), peers.all]).toEqual([true, false, []])
})

test('what a peer may owe stays when its address or key changes, and in the file', () => {
  const { peers, peerList } = openPeers(folder)
  const one = peer(1)
  peerList.add(one)
  expect([peerList.limit(one.aid, 50), peerList.limit(peer(2).aid, 50)]).toEqual([true, false])
  peerList.add({ ...one, url: 'https://moved.example' })
  const [held] = openPeers(folder).peers.all
  expect([peers.find(one.aid)?.creditLimit, held?.creditLimit, held?.url]).toEqual([
    50,
    50,
    'https://moved.example',
  ])
})

test('there are no more peers than a hub asks at once', () => {
  const { peers, peerList } = openPeers(folder)
  peers.replace(Array.from({ length: PEERS_MAX }, (_, n) => peer(n)))
  expect(() => peerList.add(peer(PEERS_MAX))).toThrow(`${PEERS_MAX} peers are listed already`)
})

test('a peer that rotated its key is known by the new one after a start', () => {
  const [seed, next] = [random(32), random(32)]
  const first = incept({ seed, nextSeed: next, ts: 1000 })
  const { peers, peerList } = openPeers(folder)
  peerList.add({ aid: first.aid, url: 'https://hub.example', log: first })
  peers.follow(first.aid, rotate(first, { seed: next, nextSeed: random(32), ts: 2000 }))
  expect(openPeers(folder).peers.find(first.aid)?.log.seq).toBe(1)
})

describe('a list that somebody wrote', () => {
  const written = (text: string) => writeFileSync(path(), text)
  const one = peer()

  test.each([
    ['is no JSON', '{'],
    ['has another member', '{"peers":[],"more":1}'],
    ['names no key history', `{"peers":[{"aid":"${one.aid}","url":"${one.url}"}]}`],
    ['has a key history that is none', `{"peers":[{"aid":"${one.aid}","url":"${one.url}","kel":"AAAA"}]}`],
    ['has an address that is none', `{"peers":[{"aid":"${one.aid}","url":"ftp://x","kel":"AAAA"}]}`],
  ])('and %s is refused with its path and what to do', (_, text) => {
    written(text)
    expect(() => openPeers(folder)).toThrow(PeersRefused)
    expect(() => openPeers(folder)).toThrow(`${path()} cannot be used: `)
  })

  test('is taken over within seconds, and one that cannot be used changes nothing and is told', async () => {
    const timers = new TestTimers(0)
    const alerts: string[] = []
    const { peers, peerList } = openPeers(folder)
    peerList.watch(timers, event => alerts.push(event))
    const elsewhere = new PeerList(folder, new Peers())
    elsewhere.add(one)
    await timers.pass(2000)
    expect(aids(peers)).toEqual([one.aid])
    const good = readFileSync(path(), 'utf8')
    written('{')
    await timers.pass(2000)
    expect([aids(peers), alerts]).toEqual([
      [one.aid],
      ['the list of peers cannot be used; the one before it stays'],
    ])
    written(good)
    await timers.pass(2000)
    rmSync(path())
    await timers.pass(2000)
    expect(aids(peers)).toEqual([])
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'no folder')
    await timers.pass(2000)
    expect(alerts).toHaveLength(2)
    peerList.close()
  })
})
