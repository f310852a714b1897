import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { KEY_DELETION_MS, KEY_RENEWAL_MS } from '../protocol/keyset.ts'
import { agent, NOW_MS, seeded } from '../protocol/testing.ts'
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
