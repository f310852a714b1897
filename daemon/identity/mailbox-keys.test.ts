import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { incept, rotate } from '../../protocol/identity/kel.ts'
import { KEY_DELETION_MS, KEY_RENEWAL_MS } from '../../protocol/identity/keyset.ts'
import { agent, NOW_MS, seeded } from '../../protocol/testing/agents.ts'
import { MailboxKeys } from './mailbox-keys.ts'

const STRANGERS = { bytes: 4096, perDay: 20 }

test('an encryption key is deleted 15 days and an hour after the hub took a set without it, and not before', () => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-keys-'))
  let now = NOW_MS
  const keys = new MailboxKeys(dir, { now: () => now, random: seeded('mailbox keys') })
  const owner = agent('owner of keys')
  const publish = () => {
    const set = keys.ensureSet(owner.log, owner.identitySeed, STRANGERS)
    keys.confirm(set)
    return set.body.keys[0]?.kid as Uint8Array
  }
  const first = publish()
  const seed = keys.seedOf(first) as Uint8Array
  const onDisk = () => readFileSync(join(dir, 'mailbox.keys')).includes(seed)
  now += KEY_RENEWAL_MS
  expect(publish()).not.toEqual(first)
  now += KEY_DELETION_MS - 1
  keys.deleteOld()
  expect([keys.seedOf(first), onDisk()]).toEqual([seed, true])
  now += 1
  keys.deleteOld()
  expect([keys.seedOf(first), onDisk()]).toEqual([undefined, false])
})

test('a key that the hub never heard of a successor for is kept', () => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-keys-'))
  let now = NOW_MS
  const keys = new MailboxKeys(dir, { now: () => now, random: seeded('mailbox keys') })
  const owner = agent('owner of keys')
  const set = keys.ensureSet(owner.log, owner.identitySeed, STRANGERS)
  keys.confirm(set)
  now += KEY_RENEWAL_MS
  keys.ensureSet(owner.log, owner.identitySeed, STRANGERS)
  now += 10 * KEY_DELETION_MS
  keys.deleteOld()
  expect(keys.seedOf(set.body.keys[0]?.kid as Uint8Array)).toBeDefined()
})

/** Keys in a folder of their own, under a clock that can be set. */
function opened() {
  const dir = mkdtempSync(join(tmpdir(), 'svc-keys-'))
  const clock = { now: NOW_MS }
  const open = () => new MailboxKeys(dir, { now: () => clock.now, random: seeded('mailbox keys') })
  const { log, identitySeed } = agent('owner of keys')
  return { dir, clock, open, keys: open(), log, identitySeed }
}

test('a set stays good for a week, then comes one with a new key and the next number', () => {
  const { clock, keys, log, identitySeed } = opened()
  const first = keys.ensureSet(log, identitySeed, STRANGERS)
  clock.now += KEY_RENEWAL_MS - 1
  expect(keys.ensureSet(log, identitySeed, STRANGERS)).toBe(first)
  clock.now += 1
  const second = keys.ensureSet(log, identitySeed, STRANGERS)
  expect([first.body.setSeq, second.body.setSeq]).toEqual([1, 2])
  expect(second.body.keys[0]?.kid).not.toEqual(first.body.keys[0]?.kid)
})

test('under a new key state the numbers start again, and other limits make another set', () => {
  const { keys, log, identitySeed } = opened()
  keys.ensureSet(log, identitySeed, STRANGERS)
  expect(keys.ensureSet(log, identitySeed, { ...STRANGERS, perDay: 0 }).body).toMatchObject({
    setSeq: 2,
    strangers: { perDay: 0 },
  })
  const [seed, nextSeed] = [4, 5].map(n => new Uint8Array(32).fill(n)) as [Uint8Array, Uint8Array]
  const before = incept({ seed, nextSeed, ts: 1 })
  const after = rotate(before, { seed: nextSeed, nextSeed: seed, ts: 2 })
  const seqs = [before, before, after].map((state, n) => {
    const signer = state === before ? seed : nextSeed
    const { kelSeq, setSeq } = keys.ensureSet(state, signer, { ...STRANGERS, perDay: n }).body
    return [kelSeq, setSeq]
  })
  expect(seqs.slice(1)).toEqual([
    [0, (seqs[0]?.[1] ?? 0) + 1],
    [1, 1],
  ])
})

test('a new mailbox has another key and another epoch, and is there again after a restart', () => {
  const { open, keys } = opened()
  const before = [keys.mailboxSeed, keys.epoch]
  keys.startEpoch()
  expect(keys.mailboxSeed).not.toEqual(before[0])
  expect(keys.epoch).not.toEqual(before[1])
  expect(open().epoch).toEqual(keys.epoch)
})

test('a set that was made while the clock ran ahead is replaced by one of the present, with a key of the present', () => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-keys-'))
  let now = NOW_MS + 20 * 86_400_000
  const keys = new MailboxKeys(dir, { now: () => now, random: seeded('mailbox keys') })
  const owner = agent('owner of keys')
  const made = () => keys.ensureSet(owner.log, owner.identitySeed, STRANGERS).body
  const early = made()
  expect(made().setSeq).toBe(early.setSeq)
  now = NOW_MS
  const present = made()
  expect(present).toMatchObject({ setSeq: early.setSeq + 1, ts: NOW_MS })
  expect(present.keys[0]).toMatchObject({ notBefore: NOW_MS })
  expect(keys.seedOf(early.keys[0]?.kid as Uint8Array)).toBeDefined()
})

test('a file with one bit of a private key changed is refused by name, and stays', () => {
  const { dir, open, keys, log, identitySeed } = opened()
  const set = keys.ensureSet(log, identitySeed, STRANGERS)
  const path = join(dir, 'mailbox.keys')
  const whole = readFileSync(path)
  const encryption = keys.seedOf(set.body.keys[0]?.kid as Uint8Array) as Uint8Array
  for (const [seed, why] of [
    [encryption, /mailbox\.keys is damaged \(an encryption key is not the one that its number names\)/],
    [keys.mailboxSeed, /mailbox\.keys is damaged \(the mailbox key is not the one of the key set\)/],
  ] as const) {
    const spoiled = Buffer.from(whole)
    const at = spoiled.indexOf(seed)
    spoiled[at] = (spoiled[at] ?? 0) ^ 1
    writeFileSync(path, spoiled)
    expect(open).toThrow(why)
    expect(readFileSync(path).equals(spoiled)).toBe(true)
  }
  writeFileSync(path, 'torn')
  expect(open).toThrow(/mailbox\.keys is damaged \(.*\); restore it from its backup, or remove it/)
  writeFileSync(path, whole)
  expect(open().set).toEqual(set)
})
