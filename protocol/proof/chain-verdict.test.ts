/** Chains of strangers: the line that their owners sign, and what heads that others hold show of them. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verify } from '#crypto'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { KelInvalid } from '../identity/kel.ts'
import { agent, anyAid, anyHead, anyUint, checkByteFormat, fixture } from '../testing/agents.ts'
import { ChainExport, exportLine, isExportLine, parseExportLine } from './chain-export.ts'
import { ChainReader } from './chain-reader.ts'
import { type ChainVerdict, judgeChain, lengthsOf } from './chain-verdict.ts'
import { ChainInvalid, DISPUTE_KIND, GENESIS_KIND, parseRecordLine } from './evidence.ts'
import { readHead } from './held-head.ts'

const vectors = fixture<{
  owner: string
  cases: {
    reason: string
    file: string
    heads: string[]
    verdict: string
    headVerdicts?: string[]
    fault?: { seq: number; code?: string }
  }[]
  firstLines: {
    valid: { line: string; length: number; head: string; kelSeq: number; ts: number }[]
    invalid: { reason: string; line: string }[]
  }
}>('evidence/exports.json')

/** Reads an export as a stranger does: the first line, every record with its signature, and the heads. */
function read(file: string, heads: string[]): ChainVerdict {
  const [first = '', ...lines] = file.replace(/\n$/, '').split('\n')
  const { signed: exported, owner } = parseExportLine(first)
  const claims = { exported, heads: heads.map(head => readHead(fromHex(head))) }
  const reader = new ChainReader(owner, lengthsOf(claims))
  for (const line of lines) {
    const seq = reader.length
    try {
      const { key, message, signature } = reader.add(parseRecordLine(line)).toVerify
      if (!verify(key, message, signature)) return judgeChain(reader, claims, { seq, code: 'signature' })
    } catch (error) {
      if (error instanceof ChainInvalid) return judgeChain(reader, claims, error)
      if (error instanceof Malformed) return judgeChain(reader, claims, { seq, code: 'malformed' })
      throw error
    }
  }
  return judgeChain(reader, claims)
}

describe('an exported chain', () => {
  test.each(vectors.cases)('$reason: $verdict', ({ file, heads, verdict, headVerdicts, fault }) => {
    const judged = read(file, heads)
    expect(judged.verdict).toBe(verdict)
    expect(judged.owner).toBe(vectors.owner)
    if (fault === undefined) expect(judged.heads.map(head => head.verdict)).toEqual(headVerdicts)
    else expect(judged.fault).toMatchObject(fault)
  })

  test('is told in sentences that say what is proven', () => {
    const saysOf = (reason: string) => {
      const found = vectors.cases.find(one => one.reason.startsWith(reason))
      return found === undefined ? '' : read(found.file, found.heads).says
    }
    expect(saysOf('whole')).toBe(
      '4 records, each linked to the one before and signed. No head that others hold was given, so nothing shows that the chain goes no further.',
    )
    expect(saysOf('its head in a counter')).toContain('It shows the head that others hold of it.')
    expect(saysOf('a head of somebody else')).toContain('1 of those given is not of this chain.')
    expect(saysOf('the last record is missing')).toContain(
      'It ends too early: the first line of the export names 4 records, the file holds 3. It was cut off.',
    )
    expect(saysOf('exported anew after it was cut, a')).toContain(
      'a counter-signature of its owner names 4 records, the file holds 2. It was cut off, or is from before that signature.',
    )
    expect(saysOf('two heads beyond its end')).toContain(
      'a receipt that its owner signed names 9 records, the',
    )
    expect(saysOf('exported anew after its last')).toContain(
      'It was rewritten: a receipt that its owner signed names another record as the last of 4, and no chain has both.',
    )
    expect(saysOf('an anchor')).toContain('in record 2 that two records of one number were signed')
    expect(saysOf('a record in the middle')).toMatch(
      /^Record 1 does not hold \(its number is not the next one\)/,
    )
  })

  test('counts its events, none of the kinds that are never written', () => {
    const { events } = read(vectors.cases[0]?.file ?? '', [])
    expect(events).toEqual({ 'svc.delegation.sent': 2, 'svc.result.accepted': 2 })
    expect([events[GENESIS_KIND], events[DISPUTE_KIND]]).toEqual([undefined, undefined])
  })
})

describe('the first line of an export', () => {
  test.each(vectors.firstLines.valid)(
    'is read, and written the same',
    ({ line, length, head, kelSeq, ts }) => {
      const { signed, owner } = parseExportLine(line)
      expect(signed.body).toMatchObject({ owner: owner.aid, kelSeq, length, ts })
      expect(toHex(signed.body.head)).toBe(head)
      expect(exportLine(signed, owner.events)).toBe(line)
    },
  )

  test.each(vectors.firstLines.invalid)('is refused: $reason', ({ line }) => {
    try {
      parseExportLine(line)
    } catch (error) {
      expect(error instanceof Malformed || error instanceof KelInvalid, String(error)).toBe(true)
      return
    }
    throw new Error('it was taken')
  })

  test('is told from records, in base64 and in JSON', () => {
    const [record = ''] = (vectors.cases[0]?.file ?? '').split('\n').slice(1)
    expect([record, '{}', ''].map(isExportLine)).toEqual([false, false, false])
  })

  test('the three properties of a byte format hold for what is signed', () => {
    const { identitySeed } = agent('alice')
    const body = fc.record({
      v: fc.constant(1 as const),
      owner: anyAid,
      kelSeq: anyUint,
      head: anyHead,
      ts: anyUint,
    })
    const signed = body.map(({ head: [length, head], ...rest }) =>
      ChainExport.sign(identitySeed, { ...rest, length, head }),
    )
    checkByteFormat(ChainExport, signed, 50)
  })
})
