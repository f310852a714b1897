import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { encode } from '../encoding/cbor.ts'
import { type Infer, literal, record, required, text } from '../encoding/record.ts'
import { KeySet, KeyStateNotice } from '../identity/keyset.ts'
import { Capability } from '../mail/capability.ts'
import { Dack } from '../mail/dack.ts'
import { Attestation, CounterSignature, Receipt } from '../proof/receipt.ts'
import { agent, bytesOf, checkByteFormat, fixture } from '../testing/agents.ts'
import { labelledSign } from './hash.ts'
import { type Signed, signed } from './signed.ts'

const Note = record('note', { v: required(1, literal(1)), text: required(2, text(20)) })
const SignedNote = signed('svc-test-note/v1', Note, 64)
const { identitySeed, log } = agent('signed')
const note = SignedNote.sign(identitySeed, { v: 1, text: 'hello' })

describe('a signed object', () => {
  test('is body and signature, the signature over the body bytes as they came', () => {
    const read = SignedNote.decode(SignedNote.encode(note))
    expect(read).toEqual(note)
    expect(SignedNote.verify(log.publicKey, read)).toBe(true)
    expect(toHex(read.signature)).toBe(toHex(labelledSign('svc-test-note/v1', identitySeed, note.bodyBytes)))
    // What a reader made of the body does not count, only the bytes do.
    expect(SignedNote.verify(log.publicKey, { ...read, body: { v: 1, text: 'other' } })).toBe(true)
    expect(
      SignedNote.verify(log.publicKey, { ...read, bodyBytes: Note.encode({ v: 1, text: 'other' }) }),
    ).toBe(false)
  })

  test('holds under its own key only', () => {
    expect(SignedNote.verify(agent('somebody').log.publicKey, note)).toBe(false)
    expect(SignedNote.verify(new Uint8Array(32), note)).toBe(false)
    expect(SignedNote.verify(new Uint8Array(31), note)).toBe(false)
  })

  test.each([
    ['one item', [note.bodyBytes]],
    ['three items', [note.bodyBytes, note.signature, note.signature]],
    ['body and signature exchanged', [note.signature, note.bodyBytes]],
    ['a body of another record', [encode(new Map([[1, 1]])), note.signature]],
    ['a body that is no map', [encode([1, 'hello']), note.signature]],
    ['a body with a byte after it', [Uint8Array.of(...note.bodyBytes, 0), note.signature]],
    ['an empty body', [new Uint8Array(0), note.signature]],
    ['a body over its limit', [new Uint8Array(65), note.signature]],
    ['no signature', [note.bodyBytes, new Uint8Array(0)]],
    ['a signature of 63 bytes', [note.bodyBytes, note.signature.subarray(1)]],
  ])('is refused as %s', (_, items) => {
    expect(() => SignedNote.decode(encode(items))).toThrow(Malformed)
  })

  test('is refused with any one bit flipped, or does not hold', () => {
    const bytes = SignedNote.encode(note)
    for (let at = 0; at < bytes.length; at++) {
      const altered = bytes.slice()
      altered[at] = (altered[at] as number) ^ (1 << (at % 8))
      let held = false
      try {
        held = SignedNote.verify(log.publicKey, SignedNote.decode(altered))
      } catch (error) {
        expect(error).toBeInstanceOf(Malformed)
      }
      expect(held, `byte ${at}`).toBe(false)
    }
  })

  test('the three properties of a byte format hold', () => {
    const any = fc
      .tuple(fc.string({ maxLength: 10 }), bytesOf(64))
      .map(([said, signature]): Signed<Infer<typeof Note>> => {
        const body = { v: 1 as const, text: said }
        return { body, bodyBytes: Note.encode(body), signature }
      })
    checkByteFormat(SignedNote, any)
  })
})

describe('labels', () => {
  const objects = { KeySet, KeyStateNotice, Receipt, CounterSignature, Attestation, Capability, Dack }

  test('every signed object has one of its own, so no signature of one holds for another', () => {
    const labels = Object.values(objects).map(({ label }) => label)
    expect(new Set(labels).size).toBe(labels.length)
    const body = note.bodyBytes
    for (const signing of labels) {
      const signature = labelledSign(signing, identitySeed, body)
      for (const [name, codec] of Object.entries(objects)) {
        const verify = codec.verify as (key: Uint8Array, object: Signed<unknown>) => boolean
        const holds = verify(log.publicKey, { body: undefined, bodyBytes: body, signature })
        expect(holds, `${signing} as ${name}`).toBe(codec.label === signing)
      }
    }
  })

  test('a recorded receipt is nothing but a receipt', () => {
    const { valid } = fixture<{ valid: [{ receipt: string }] }>('receipt/receipts.json')
    for (const [name, codec] of Object.entries(objects)) {
      if (name !== 'Receipt') expect(() => codec.decode(fromHex(valid[0].receipt)), name).toThrow(Malformed)
    }
  })

  /** Every label in the sources of this folder, with the files that write it. */
  const written = new Map<string, Set<string>>()
  const folder = new URL('../', import.meta.url)
  for (const file of readdirSync(folder, { recursive: true }) as string[]) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
    for (const [, label] of readFileSync(new URL(file, folder), 'utf8').matchAll(
      /'(svc-[a-z0-9-]+\/v[0-9]+)'/g,
    ))
      written.set(label as string, (written.get(label as string) ?? new Set()).add(file))
  }
  const documented = readFileSync(new URL('../../docs/objects.md', import.meta.url), 'utf8')
  const rows = [...documented.matchAll(/^\| `(svc-[a-z0-9-]+\/v[0-9]+)` \| ([^|]+) \| `([^`]+)` \|$/gm)].map(
    ([, label, purpose, file]) => ({ label, purpose, file }),
  )

  test('each is written in one file only, the one that docs/objects.md names', () => {
    // Sealing and opening derive the same key; one of the two files has to write the label once more.
    const elsewhere: Record<string, string[]> = { 'svc-env/v1': ['mail/open.ts'] }
    for (const [label, files] of written) {
      const named = rows.filter(row => row.label === label).map(row => row.file as string)
      expect([...files].sort(), label).toEqual([...new Set([...named, ...(elsewhere[label] ?? [])])].sort())
    }
    expect(rows.filter(row => !written.has(row.label as string))).toEqual([])
  })

  test('each has one purpose; the one that has two signs with it and derives a key, which never meet', () => {
    const twice = rows.filter(({ label }, i) => rows.findIndex(row => row.label === label) !== i)
    expect(twice.map(({ label }) => label)).toEqual(['svc-dack/v1'])
    const kinds = rows
      .filter(({ label }) => label === 'svc-dack/v1')
      .map(({ purpose }) => purpose?.split(':')[0])
    expect(kinds).toEqual(['signature', 'key derivation'])
  })
})
