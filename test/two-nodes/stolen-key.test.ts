/** What a thief of the identity key can still do once its owner has rotated: nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Connections } from '../../daemon/hubs/http.ts'
import type { HubClient, SealedMail } from '../../daemon/hubs/hub.ts'
import { meetHub } from '../../daemon/hubs/open.ts'
import { Publication } from '../../daemon/hubs/publication.ts'
import type { Node } from '../../daemon/node.ts'
import { KelInvalid, rotate, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import { judgeReceipt } from '../../protocol/proof/judge.ts'
import { Receipt } from '../../protocol/proof/receipt.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { delegated, finished, type Lab, never, openPair, servedLog, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
let connections: Connections
/** What somebody copied of bob's `identity.kel` before he rotated; the next key lay elsewhere. */
let stolen: { aid: string; seed: Uint8Array; log: VerifiedKel }
let thief: HubClient
let mail: SealedMail
let oldTask: string

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  connections = new Connections()
  oldTask = await delegated(alice, bob, 'before the theft')
  await finished(alice, bob, oldTask)
  const { aid, seed, log } = bob.ctx.identity
  stolen = { aid, seed: seed.slice(), log }
  thief = await meetHub(lab.line.url, {
    identity: stolen as Node['ctx']['identity'],
    connections,
    now: () => lab.hub.clock.now(),
    random: length => crypto.getRandomValues(new Uint8Array(length)),
    timers: systemTimers,
    spoolFolder: lab.folder,
    publication: new Publication(),
  })
  mail = thief.mail as SealedMail
  await bob.handlers.idRotate({}, never)
  await until('the hub has it', () => bob.ctx.identity.log.events.at(-1)?.witnesses.length === 1)
})
afterAll(async () => {
  await connections.close()
  await lab.close()
})

const own = new Uint8Array(32).fill(66)

describe('whoever has the key that was rotated away', () => {
  test('reads no mail, and registers, publishes and revokes nothing', async () => {
    const { log } = stolen
    const keySet = KeySet.encode(bob.ctx.keys.set as KeySet)
    await expect(mail.poll({ waitSeconds: 0, signal: never })).rejects.toMatchObject({ code: 'key_retired' })
    await expect(thief.publishKeys(keySet, 0)).rejects.toMatchObject({ code: 'key_retired' })
    await expect(thief.register({ log })).rejects.toMatchObject({ code: 'kel_rollback' })
    await expect(thief.pushLog(log)).rejects.toMatchObject({ code: 'kel_rollback' })
    await expect(mail.revoke([new Uint8Array(16)])).rejects.toMatchObject({ code: 'key_retired' })
    await expect(thief.deregister()).rejects.toMatchObject({ code: 'key_retired' })
    expect((await servedLog(lab.line.url, bob.aid))?.headDigest).toEqual(bob.ctx.identity.log.headDigest)
  })

  test('makes no key event: the one before committed to another key', () => {
    const next = { seed: own, nextSeed: own, ts: lab.hub.clock.now(), home: lab.hub.aid }
    for (const seed of [own, stolen.seed])
      expect(() => rotate(stolen.log, { ...next, seed })).toThrow(KelInvalid)
  })

  test('signs no receipt that anybody believes, while those of the owner from before still stand', async () => {
    const { body } = Receipt.decode(bob.ctx.threads.findById(oldTask)?.receipt ?? new Uint8Array())
    const forged = Receipt.sign(stolen.seed, { ...body, end: lab.hub.clock.now() })
    const { log } = bob.ctx.identity
    expect(judgeReceipt(forged, log)).toMatchObject({ verdict: 'invalid' })
    expect(await alice.handlers.verify({ interaction_id: oldTask }, never)).toMatchObject({
      verdict: 'valid_retired_key',
      counter_signed: true,
    })
  })
})
