import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Identity, KeyRefused, openIdentity, peekIdentity } from './identity.ts'

const fresh = () => mkdtempSync(join(tmpdir(), 'svc-identity-'))
const inputs = { now: () => Date.now(), random: (n: number) => crypto.getRandomValues(new Uint8Array(n)) }
const open = (dir: string): Identity => openIdentity(dir, inputs)

describe('identity files', () => {
  test('a directory that holds identity.kel is reused, no new identity is made', () => {
    const dir = fresh()
    const { aid } = open(dir)
    expect(open(dir).aid).toBe(aid)
    expect(aid).toMatch(/^A[\w-]{43}$/)
  })

  test('identity.kel and identity.next are readable by their owner only', () => {
    const dir = fresh()
    open(dir)
    for (const file of ['identity.kel', 'identity.next'])
      expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600)
  })

  test('a rotation reveals the committed key and keeps the identifier', () => {
    const dir = fresh()
    const identity = open(dir)
    const { aid } = identity
    identity.rotate()
    identity.rotate()
    expect(identity.log.seq).toBe(2)
    const again = open(dir)
    expect([again.aid, again.log.seq, again.hasNextKey]).toEqual([aid, 2, true])
  })

  test('a deactivated identity makes no further event', () => {
    const identity = open(fresh())
    identity.deactivate()
    expect(identity.log.deactivated).toBe(true)
    expect(() => identity.rotate()).toThrow(KeyRefused)
  })

  test('the next key can be exported as a phrase, removed, and brought back', () => {
    const dir = fresh()
    const identity = open(dir)
    const phrase = identity.exportNext()
    identity.removeNext(phrase)
    expect(existsSync(join(dir, 'identity.next'))).toBe(false)
    expect(() => open(dir).rotate()).toThrow(/svc id next import/)
    expect(() => open(dir).importNext(phrase.replace(/^./, c => (c === 'a' ? 'b' : 'a')))).toThrow(KeyRefused)
    const back = open(dir)
    back.importNext(phrase.toUpperCase())
    expect(back.rotate().seq).toBe(1)
    expect(() => back.importNext(phrase)).toThrow(/not the next key/)
  })

  test('a damaged identity.kel is refused by name and nothing is overwritten', () => {
    const dir = fresh()
    open(dir)
    writeFileSync(join(dir, 'identity.kel'), 'torn')
    expect(() => open(dir)).toThrow(/identity\.kel is damaged/)
  })

  test('an identity.kel with one bit of its private key changed is refused', () => {
    const dir = fresh()
    const { seed } = open(dir)
    const path = join(dir, 'identity.kel')
    const bytes = readFileSync(path)
    const at = bytes.indexOf(seed)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(path, bytes)
    expect(() => open(dir)).toThrow(/identity\.kel is damaged \(the seed is not the one of the last event\)/)
  })

  test('a lost identity.kel beside its next key is not replaced by a new identity', () => {
    const dir = fresh()
    open(dir)
    spawnSync('rm', [join(dir, 'identity.kel')])
    expect(() => open(dir)).toThrow(/restore identity\.kel/)
  })
})

describe('a rotation that a crash interrupts', () => {
  const script = `
    import { openIdentity } from ${JSON.stringify(join(import.meta.dirname, 'identity.ts'))}
    const random = n => crypto.getRandomValues(new Uint8Array(n))
    openIdentity(process.argv[1], { now: Date.now, random }).rotate()
  `
  const steps: [string, number][] = [
    ['node.rotate.before-next', 0],
    ['node.rotate.after-next', 0],
    ['node.rotate.kel.before-rename', 0],
    ['node.rotate.kel.after-rename', 1],
    ['node.rotate.after-kel', 1],
    ['node.rotate.after-rename', 1],
  ]
  test.each(steps)('killed at %s leaves event %i and a next key that fits', (fault, seq) => {
    const dir = fresh()
    const before = open(dir)
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script, dir], {
      env: { ...process.env, SVC_FAULT: fault },
    })
    expect(run.signal).toBe('SIGKILL')
    const after = open(dir)
    expect([after.aid, after.log.seq, after.hasNextKey]).toEqual([before.aid, seq, true])
    expect(existsSync(join(dir, 'identity.next.new'))).toBe(false)
    expect(after.rotate().seq).toBe(seq + 1)
    expect(peekIdentity(dir)?.seq).toBe(seq + 1)
  })
})
