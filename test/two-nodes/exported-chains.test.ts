/** Chains handed to strangers: whole ones verify offline, and one that was cut or written again is shown up by the peer. */
import { execFileSync } from 'node:child_process'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runIn } from '../../cli/testing.ts'
import { jsonLine } from '../../daemon/chain/json-lines.ts'
import type { Node } from '../../daemon/node.ts'
import { contentId } from '../../protocol/crypto/hash.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { ChainExport, exportLine } from '../../protocol/proof/chain-export.ts'
import {
  ChainRecord,
  parseRecordLine,
  readRecord,
  recordLine,
  signRecord,
} from '../../protocol/proof/evidence.ts'
import { delegated, finished, type Lab, openPair, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
let whole: string
let heads: string[]

const run = (node: Node, ...argv: string[]) => runIn(lab.folder, argv, { SVC_DATA_DIR: node.ctx.dir })
const file = (name: string) => join(lab.folder, name)
const verify = async (path: string, ...more: string[]) => {
  const { code, out, err } = await run(bob, 'verify', '--chain', path, ...more)
  return { code, err, verdict: out === '' ? {} : (JSON.parse(out) as Record<string, unknown>) }
}
const withHeads = () => heads.flatMap(head => ['--head', head])

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  for (const task of ['sum it up', 'and once more'])
    await finished(alice, bob, await delegated(alice, bob, task))
  await until('bob holds the head of alice', async () => {
    const { out } = await run(bob, 'evidence', 'heads', 'alice')
    const found = (JSON.parse(out) as { heads: { length: number; head: string }[] }).heads
    heads = found.map(({ head }) => head)
    return found.some(({ length }) => length >= 3)
  })
  expect(JSON.parse((await run(alice, 'evidence', 'export', '--out', 'chain.txt')).out)).toMatchObject({
    file: file('chain.txt'),
    aid: alice.ctx.identity.aid,
    length: alice.ctx.chain.length,
  })
  whole = readFileSync(file('chain.txt'), 'utf8')
})
afterAll(() => lab.close())

/** The first line that alice would sign over these records. */
function handedOut(lines: readonly string[]): string {
  const { aid, log, seed } = alice.ctx.identity
  const head = contentIdOf(lines.at(-1) ?? '')
  const body = { v: 1 as const, owner: aid, kelSeq: log.seq, length: lines.length, head, ts: Date.now() }
  return `${exportLine(ChainExport.sign(seed, body), log.events)}\n${lines.join('\n')}\n`
}
const records = () => whole.trimEnd().split('\n').slice(1)
const place = (seq: number) => ({
  seq,
  previous: seq === 0 ? new Uint8Array() : contentIdOf(records()[seq - 1] ?? ''),
  chainDid: `did:svc:${alice.ctx.identity.aid}`,
})
const contentIdOf = (line: string): Uint8Array => {
  const seq = records().indexOf(line)
  return alice.ctx.chain.idAt(seq + 1) ?? contentId(utf8('none'))
}

describe('an exported chain', () => {
  test('that goes on without lines is read no further than a record can be long', async () => {
    writeFileSync(file('padded.txt'), whole)
    truncateSync(file('padded.txt'), 2 ** 31)
    expect(await verify('padded.txt')).toMatchObject({
      code: 1,
      verdict: { verdict: 'invalid', fault: { seq: records().length, code: 'malformed' } },
    })
    writeFileSync(file('zeros.txt'), '')
    truncateSync(file('zeros.txt'), 2 ** 31)
    expect((await verify('zeros.txt')).err).toContain('needs the key history of its owner')
  })

  test('that is a pipe or a device is refused', async () => {
    execFileSync('mkfifo', [file('pipe')])
    for (const path of ['pipe', '/dev/zero'])
      expect(await verify(path)).toMatchObject({
        code: 1,
        err: expect.stringContaining('not a regular file'),
      })
  })

  test('is verified offline, with the heads that the other side holds', async () => {
    const { code, verdict } = await verify('chain.txt', ...withHeads())
    expect(verdict).toMatchObject({
      verdict: 'valid',
      owner: alice.ctx.identity.aid,
      length: alice.ctx.chain.length,
      state: 'ACTIVE',
      events: { 'svc.delegation.sent': 2, 'svc.result.accepted': 2 },
      heads: [
        { verdict: 'shown', signed_in: 'export' },
        { verdict: 'shown', signed_in: 'counter_signature' },
      ],
    })
    expect(code).toBe(0)
  })

  test('that its owner cut and signed anew is shown up by the head that the other side holds', async () => {
    writeFileSync(file('cut.txt'), handedOut(records().slice(0, 1)))
    expect((await verify('cut.txt')).verdict).toMatchObject({ verdict: 'valid', length: 1 })
    const { code, verdict } = await verify('cut.txt', ...withHeads())
    expect(verdict).toMatchObject({ verdict: 'cut', says: expect.stringContaining('It was cut off') })
    expect(code).toBe(1)
  })

  test('whose last records its owner wrote again is shown up as rewritten', async () => {
    const { seed, aid, log } = alice.ctx.identity
    const kept = records().slice(0, 1)
    const lines = [...kept]
    let previous = contentIdOf(kept[0] ?? '')
    for (let seq = 1; seq < records().length; seq++) {
      const given = { signer: aid, keyStateSeq: log.seq, seq, previous, eventType: 'svc.delegation.sent' }
      const made = signRecord(seed, { ...given, payload: new Map(), ts: Date.now() })
      previous = made.record.id
      lines.push(recordLine(made.bytes).trimEnd())
    }
    const body = { v: 1 as const, owner: aid, kelSeq: log.seq, length: lines.length, head: previous, ts: 1 }
    const first = exportLine(ChainExport.sign(seed, body), log.events)
    writeFileSync(file('again.txt'), `${first}\n${lines.join('\n')}\n`)
    expect((await verify('again.txt')).verdict).toMatchObject({ verdict: 'valid' })
    const { code, verdict } = await verify('again.txt', ...withHeads())
    expect(verdict).toMatchObject({ verdict: 'rewritten' })
    expect(code).toBe(1)
  })

  test('is refused where a byte of it was changed, with the number of the record', async () => {
    const lines = whole.trimEnd().split('\n')
    const bytes = parseRecordLine(lines[2] ?? '')
    bytes[60] = (bytes[60] ?? 0) ^ 1
    lines[2] = recordLine(bytes).trimEnd()
    writeFileSync(file('changed.txt'), `${lines.join('\n')}\n`)
    const { code, verdict } = await verify('changed.txt')
    expect(verdict).toMatchObject({ verdict: 'invalid', fault: { seq: 1 } })
    expect(code).toBe(1)
  })

  test('is written over nothing', async () => {
    const { code, err } = await run(alice, 'evidence', 'export', '--out', 'chain.txt')
    expect([code, err]).toEqual([1, expect.stringContaining('name another file, or remove this one')])
    expect(readFileSync(file('chain.txt'), 'utf8')).toBe(whole)
  })
})

describe('the record of an event', () => {
  const members = (node: Node, eventType: string) =>
    node.ctx.chain.read({ eventType }).map(({ payload }) => Object.keys(payload as object).sort())

  test.each([
    ['svc.delegation.sent', () => alice, ['interaction_id', 'provider_aid', 'request_cid']],
    [
      'svc.result.accepted',
      () => alice,
      ['interaction_id', 'receipt_bytes', 'receipt_verified', 'result_cid'],
    ],
    ['svc.interaction.receipt', () => bob, ['interaction_id', 'requester_aid', 'result_cid']],
  ] as const)('%s has these members and no other', (eventType, node, names) => {
    const found = members(node(), eventType)
    expect(found).toEqual(Array(found.length).fill([...names]))
    expect(found).toHaveLength(2)
  })

  test('names the task outside of what is signed, as a trace', () => {
    const [record] = alice.ctx.chain.read({ eventType: 'svc.delegation.sent' })
    const payload = record?.['payload'] as { interaction_id?: string } | undefined
    const trace = Buffer.from(payload?.interaction_id ?? '', 'base64url').toString('base64')
    expect(record).toMatchObject({ version_minor: 1, corr_id: trace })
  })
})

describe('the chain file of a node', () => {
  const own = () => join(alice.ctx.dir, 'evidence.ael.jsonl')

  test('verifies beside the key history of its owner, and not without', async () => {
    const { out } = await run(alice, 'key-history')
    const { kel } = JSON.parse(out) as { kel: string }
    expect((await verify(own(), '--kel', kel)).verdict).toMatchObject({ verdict: 'valid' })
    const { code, err } = await verify(own())
    expect([code, err]).toEqual([2, expect.stringContaining('--kel')])
  })

  test('verifies with lines of older nodes in JSON too', async () => {
    const { kel } = JSON.parse((await run(alice, 'key-history')).out) as { kel: string }
    const mixed = records().map((line, i) =>
      i % 2 === 0 ? jsonLine(ChainRecord.decode(parseRecordLine(line))) : line,
    )
    writeFileSync(file('json.txt'), `${mixed.join('\n')}\n`)
    expect((await verify('json.txt', '--kel', kel)).verdict).toMatchObject({
      verdict: 'valid',
      length: records().length,
    })
    writeFileSync(file('json.txt'), `${mixed.join('\n').replace('"seq":0', '"seq":1')}\n`)
    expect((await verify('json.txt', '--kel', kel)).verdict).toMatchObject({
      verdict: 'invalid',
      fault: { seq: 0 },
    })
  })

  test('is the same as what is exported, record by record', () => {
    expect(readFileSync(own(), 'utf8')).toBe(`${records().join('\n')}\n`)
    expect(() => readRecord(parseRecordLine(records()[1] ?? ''), place(1))).not.toThrow()
  })
})

test.each([
  [['--chain', 'no-such-file'], 1, /--chain: .*no such file/i],
  [['--chain', 'x', '--receipt', 'y'], 2, /--receipt and --chain were both given/],
  [['--head', 'x', '--receipt', 'y'], 2, /--head goes with --chain/],
  [['--chain', 'chain.txt', '--head', '!'], 2, /--head is not base64/],
  [['--chain', 'chain.txt', '--head', 'AAAA'], 2, /--head is no head of a chain/],
  [['--chain', 'chain.txt', '--kel', 'AAAA'], 1, /no key history/],
  [
    [],
    2,
    /expected an interaction id, the folder or file of a proof, --proof, --receipt, --chain, --attestation or --page/,
  ],
] as const)('svc verify %j is refused in a sentence', async (argv, code, sentence) => {
  const ran = await run(bob, 'verify', ...argv)
  expect(ran.err).toMatch(sentence)
  expect(ran.code).toBe(code)
})
