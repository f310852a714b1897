import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { directoryHash, sealBox } from '../../protocol/identity/directory.ts'
import { incept } from '../../protocol/identity/kel.ts'
import { agent } from '../../protocol/testing/agents.ts'
import type { BucketReply, HubClient, SealedMail } from '../hubs/hub.ts'
import { PeerBook } from '../peers/peers.ts'
import { openStore } from '../store/open.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import { Directory } from './directory.ts'

const seed = (n: number) => new Uint8Array(32).fill(n)
const NOW = 1_800_000_000_000
const log = incept({ seed: seed(10), nextSeed: seed(11), ts: NOW })

function directoryOf(bucket: SealedMail['bucket']): Directory {
  const identity = { aid: log.aid, wire: 3, log, bitsMax: 0 }
  const hub = { home: { identity, mail: { bucket } } as unknown as HubClient }
  const store = openStore(mkdtempSync(join(tmpdir(), 'svc-directory-')))
  const now = () => NOW
  return new Directory({ store, hub, peers: new PeerBook(store, now, hub) })
}

describe('a look-up', () => {
  const lost = Object.assign(new Error('x'), { code: 'ECONNRESET' })
  const silent: (Error | Partial<BucketReply>)[] = [lost, refusedWith('rate_limited'), { partial: true }]
  /** A directory whose hub gives these answers, the last of them for ever. */
  const asking = (...answers: (Error | Partial<BucketReply>)[]) =>
    directoryOf(async () => {
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      if (answer instanceof Error) throw answer
      return { entries: [], partial: false, bits: 0, ...answer }
    })
  const { aid, keySet, ...listedAgent } = agent('listed')
  const box = sealBox(aid, seed(0), { kel: [...listedAgent.log.events], keySet, notice: null })
  const listed = { entries: [{ h: directoryHash(aid), box }] }

  test('finds who is listed, also in an answer that is incomplete', async () => {
    for (const partial of [false, true])
      expect(await asking({ ...listed, partial }).lookup(aid)).toMatchObject({
        outcome: 'found',
        peer: { aid },
      })
  })

  test('says that an agent is not listed by a complete answer alone', async () => {
    expect(await asking({}).lookup(aid)).toEqual({ outcome: 'not_listed' })
    expect(await asking(lost).lookup(aid)).toMatchObject({ why: 'unanswered' })
    expect(await asking(refusedWith('rate_limited')).lookup(aid)).toMatchObject({
      outcome: 'not_known',
      why: 'refused',
      error: { code: 'rate_limited' },
    })
    expect(await asking({ partial: true }).lookup(aid)).toEqual({
      outcome: 'not_known',
      why: 'incomplete',
    })
    const garbled = { entries: [{ h: directoryHash(aid), box: seed(1) }] }
    expect(await asking(garbled).lookup(aid)).toMatchObject({ why: 'unusable' })
  })

  test.each(silent)('keeps nothing that says nothing: the next one asks again (%#)', async answer => {
    const directory = asking(answer, listed)
    expect(await directory.lookup(aid)).toMatchObject({ outcome: 'not_known' })
    expect(await directory.lookup(aid)).toMatchObject({ outcome: 'found' })
  })

  test('asks again each time: who was not listed may be listed since', async () => {
    const directory = asking({}, listed)
    expect(await directory.lookup(aid)).toEqual({ outcome: 'not_listed' })
    expect(await directory.lookup(aid)).toMatchObject({ outcome: 'found' })
  })

  test('throws what fails on this machine', async () => {
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
    await expect(asking(full).lookup(aid)).rejects.toBe(full)
  })
})
