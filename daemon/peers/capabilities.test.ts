import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { GrantedCapability } from '../../protocol/mail/capability.ts'
import { agent } from '../../protocol/testing/agents.ts'
import { MailboxKeys } from '../identity/mailbox-keys.ts'
import { openStore } from '../store/open.ts'
import { DeliveryCapabilities } from './capabilities.ts'

const DAY_MS = 86_400_000
const alice = agent('alice')
const bob = agent('bob')

function side(aid: string) {
  const dir = mkdtempSync(join(tmpdir(), 'svc-cap-'))
  const clock = { now: 1_780_000_000_000 }
  const inputs = {
    now: () => clock.now,
    random: (n: number) => crypto.getRandomValues(new Uint8Array(n)),
  }
  const keys = new MailboxKeys(dir, inputs)
  const capabilities = new DeliveryCapabilities(openStore(dir), keys, { identity: { aid }, ...inputs })
  capabilities.clean()
  return { capabilities, keys, clock }
}

const holder = side(alice.aid)
const issuer = side(bob.aid)
const spendAll = () => {
  for (let uses = 0; ; uses++) {
    const held = holder.capabilities.choose(bob.aid, issuer.keys.epoch, 1000)
    if (held === undefined) return uses
    holder.capabilities.spend(held.id)
  }
}

const DIGEST = new Uint8Array(32).fill(3)

describe('capabilities in stock', () => {
  test('eight are handed out, the least used is spent first, four times a day each', () => {
    const granted = issuer.capabilities.topUp(alice.aid)
    expect(granted).toHaveLength(8)
    expect(issuer.capabilities.topUp(alice.aid)).toEqual([])
    holder.capabilities.accept(bob.aid, granted)
    expect(spendAll()).toBe(32)
    expect(holder.capabilities.holdsAny(bob.aid)).toBe(false)
  })

  test('those of two senders differ in id, holder key and signature alone, whenever in a day they were issued', () => {
    const two = side(agent('carol').aid)
    const [first] = two.capabilities.topUp(alice.aid)
    two.clock.now += 3 * 3_600_000 + 1
    const batch = two.capabilities.topUp(bob.aid)
    const bare = ({ capability: { body } }: GrantedCapability) => ({ ...body, id: null, holderKey: null })
    for (const one of batch) expect(bare(one)).toEqual(bare(first as GrantedCapability))
    expect((first as GrantedCapability).capability.body.expMs % DAY_MS).toBe(0)
    const ids = batch.map(one => Buffer.from(one.capability.body.id).toString('hex'))
    expect(new Set(ids).size).toBe(8)
    expect([...ids].sort()).not.toEqual(ids)
  })

  test('one that ends within a day, as earlier releases granted them, is not spent', () => {
    const [first] = side(bob.aid).capabilities.topUp(alice.aid)
    if (first === undefined) throw new Error('none granted')
    const { capability } = first
    const stale = side(alice.aid)
    const body = { ...capability.body, expMs: capability.body.expMs - 1 }
    stale.capabilities.accept(bob.aid, [{ ...first, capability: { ...capability, body } }])
    expect(stale.capabilities.holdsAny(bob.aid)).toBe(false)
    expect(stale.capabilities.choose(bob.aid, body.epoch, 1000)).toBeUndefined()
    stale.capabilities.accept(bob.aid, [
      {
        ...first,
        capability: { ...capability, body: { ...body, id: alice.random(16), expMs: body.expMs + 1 } },
      },
    ])
    expect(stale.capabilities.holdsAny(bob.aid)).toBe(true)
  })

  test('a use is given back when the envelope was never queued', () => {
    const [first] = issuer.capabilities.issuedTo(alice.aid)
    holder.capabilities.refund(first as Uint8Array)
    expect(spendAll()).toBe(1)
  })

  test('the next day they may be used again', () => {
    holder.clock.now += DAY_MS
    holder.capabilities.clean()
    expect(spendAll()).toBe(32)
  })

  test('a peer that lost its stock gets a full one, and a block still revokes what it had', () => {
    issuer.capabilities.forgetIssued(alice.aid)
    expect(issuer.capabilities.topUp(alice.aid, true)).toHaveLength(16)
    expect(issuer.capabilities.issuedTo(alice.aid)).toHaveLength(24)
  })

  test('a peer that says again and again that it has none is not given more and more', () => {
    for (let i = 0; i < 40; i++) {
      issuer.capabilities.forgetIssued(alice.aid)
      issuer.capabilities.topUp(alice.aid, true)
    }
    expect(issuer.capabilities.issuedTo(alice.aid).length).toBeLessThan(300)
    expect(issuer.capabilities.isLow(alice.aid)).toBe(false)
  })

  test('one that is refused takes with it what came before, once newer ones are there', () => {
    const [giver, taker] = [side(bob.aid), side(alice.aid)]
    const { capabilities } = taker
    const choose = () => capabilities.choose(bob.aid, giver.keys.epoch, 1000)?.id as Uint8Array
    capabilities.accept(bob.aid, giver.capabilities.topUp(alice.aid))
    expect(capabilities.dropRefused(bob.aid, choose())).toBe(false)
    expect(capabilities.heldSeeds()).toHaveLength(7)
    giver.capabilities.forgetIssued(alice.aid)
    const old = choose()
    const newer = giver.capabilities.topUp(alice.aid, true)
    capabilities.accept(bob.aid, newer)
    for (const { capability } of newer) {
      expect(choose()).not.toEqual(old)
      capabilities.spend(choose())
      expect(capability.body.recipient).toBe(bob.aid)
    }
    expect(capabilities.dropRefused(bob.aid, choose())).toBe(true)
    expect(capabilities.heldSeeds()).toHaveLength(16)
    expect(capabilities.dropRefused(bob.aid, choose())).toBe(false)
    expect(capabilities.heldSeeds()).toHaveLength(15)
  })

  test('only what was spent shows that a message with it arrived', () => {
    const [id] = issuer.capabilities.issuedTo(alice.aid)
    expect(issuer.capabilities.wasUsed(id as Uint8Array)).toBe(false)
    issuer.capabilities.noteUse(id as Uint8Array, DIGEST)
    expect(issuer.capabilities.wasUsed(id as Uint8Array)).toBe(true)
    const other = side(agent('carol').aid)
    const granted = other.capabilities.topUp(alice.aid).map(({ capability }) => capability.body.id)
    const used = () => granted.filter(one => other.capabilities.wasUsed(one)).length
    expect(used()).toBe(0)
    for (const one of granted.slice(0, 5)) other.capabilities.noteUse(one, DIGEST)
    expect(used()).toBe(5)
    expect(other.capabilities.topUp(alice.aid)).toHaveLength(5)
  })
})
