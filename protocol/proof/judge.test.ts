import { describe, expect, test } from 'vitest'
import { fromHex } from '../encoding/bytes.ts'
import { present } from '../encoding/present.ts'
import { decodeKel, rotate, verifyKel } from '../identity/kel.ts'
import { agent, fixture, NOW_MS } from '../testing/agents.ts'
import { attestedTime, judgeReceipt, resultMatches, sayJudgement } from './judge.ts'
import { Attestation, Receipt, receiptDigest } from './receipt.ts'
import { gatherHistories, judgeShown } from './shown.ts'

const vectors = fixture<{
  hubKel: string
  cases: {
    reason: string
    receipt: string
    kel: string
    hubKnown: boolean
    shownAt: number | null
    verdict: string
    why?: string
    retiredAt?: number
  }[]
  results: { receipt: string; matches: string; differs: { reason: string; result: string }[] }
}>('judge/judgements.json')
type HostileCase = {
  reason: string
  receipt: string
  kel: string
  kels?: string[]
  before?: { attestation: string; hubKel: string }[]
  attestation?: string
  hubKel?: string
  named?: string[]
  verdict: string
}
const readLog = (hex: string) => verifyKel(decodeKel(fromHex(hex)))
const hub = readLog(vectors.hubKel)

function judge({ receipt, kel, hubKnown, shownAt }: (typeof vectors.cases)[number]) {
  return judgeReceipt(Receipt.decode(fromHex(receipt)), readLog(kel), {
    ...(hubKnown ? { hub } : {}),
    ...(shownAt === null ? {} : { evidence: { at: shownAt, source: 'the hub' } }),
  })
}

describe('the verdict on a receipt', () => {
  test.each(vectors.cases)('$reason: $verdict', vector => {
    const { verdict, why, retiredAt, shownAt } = vector
    expect(judge(vector)).toEqual({
      verdict,
      ...present({ why, retiredAt }),
      ...(verdict === 'valid_retired_key' ? { evidence: { at: shownAt, source: 'the hub' } } : {}),
    })
  })

  test('is one for the request as well: under another file no receipt is valid', () => {
    const { receipt, differs } = vectors.results
    const { kel } = vectors.cases.find(({ verdict }) => verdict === 'valid') as (typeof vectors.cases)[number]
    const request = fromHex(differs[0]?.result ?? '')
    expect(judgeReceipt(Receipt.decode(fromHex(receipt)), readLog(kel), { request })).toEqual({
      verdict: 'invalid',
      why: 'request',
    })
  })

  test('is one for all that was asked: over another file no receipt is valid', () => {
    const { receipt, matches, differs } = vectors.results
    const { kel } = vectors.cases.find(({ verdict }) => verdict === 'valid') as (typeof vectors.cases)[number]
    const judged = (result: string) =>
      judgeReceipt(Receipt.decode(fromHex(receipt)), readLog(kel), { result: fromHex(result) })
    expect(judged(matches).verdict).toBe('valid')
    for (const { result } of differs) {
      expect(judged(result)).toEqual({ verdict: 'invalid', why: 'result' })
      expect(sayJudgement(judged(result))).toContain('over another result')
    }
  })

  test('is said in a sentence that names time and evidence', () => {
    const sentences = new Set(vectors.cases.map(vector => sayJudgement(judge(vector))))
    const retired = vectors.cases.find(({ verdict }) => verdict === 'valid_retired_key')
    const sentence = sayJudgement(judge(retired as (typeof vectors.cases)[number]))
    expect(sentence).toContain('2026-05-28T20:26:40.000Z')
    expect(sentence).toContain('the hub shows it from before')
    for (const said of sentences) expect(said).toMatch(/^[A-Z].*\.$/)
  })
})

describe('a receipt that somebody wants to count', () => {
  const { cases } = fixture<{ cases: HostileCase[] }>('judge/hostile.json')
  test.each(cases)('$reason: $verdict', vector => {
    const receipt = Receipt.decode(fromHex(vector.receipt))
    const { before = [], attestation, hubKel, named = [] } = vector
    const words = [...before, ...(attestation && hubKel ? [{ attestation, hubKel }] : [])]
    const shown = [vector.kel, ...(vector.kels ?? []), ...words.map(word => word.hubKel)].map(readLog)
    const { logs, forks } = gatherHistories(shown)
    const provider = logs.get(receipt.body.provider)
    expect(forks.has(receipt.body.provider)).toBe(vector.verdict === 'not checked')
    if (provider === undefined) return expect(vector.verdict).toBe('not checked')
    const attestations = words.map(word => Attestation.decode(fromHex(word.attestation)))
    const judged = judgeShown(receipt, provider, { attestations, logs, named: new Set(named) })
    expect(judged.verdict).toBe(vector.verdict)
    if (judged.verdict === 'open') {
      expect(named).not.toContain(judged.evidence.unnamed)
      expect(sayJudgement(judged)).toContain(`only if you trust ${judged.evidence.unnamed}`)
    }
  })
})

describe('what a hub attests of a receipt', () => {
  const receipt = Receipt.decode(fromHex(vectors.results.receipt))
  const other = Receipt.decode(fromHex((vectors.cases[0] as (typeof vectors.cases)[number]).receipt))
  const asked = agent('an attesting hub')
  const body = {
    receiptDigest: receiptDigest(receipt.bodyBytes),
    reviewHash: new Uint8Array(32),
    hub: asked.aid,
    hubSeq: 0,
    hubTs: NOW_MS,
  }
  const word = (more: Partial<typeof body> = {}, seed = asked.identitySeed) =>
    Attestation.sign(seed, { ...body, ...more })
  const rotated = rotate(asked.log, {
    seed: asked.nextSeed,
    nextSeed: asked.random(32),
    ts: NOW_MS,
  })

  test('is its word under its newest key', () => {
    expect(attestedTime(word(), receipt, asked.log)).toMatchObject({ at: NOW_MS })
    expect(attestedTime(word({ hubSeq: 1 }, asked.nextSeed), receipt, rotated)).toMatchObject({ at: NOW_MS })
  })

  test.each([
    ['of a key that it retired', word(), receipt, rotated],
    ['of a key state to come', word({ hubSeq: 1 }, asked.nextSeed), receipt, asked.log],
    ['of another hub', word({ hub: agent('another hub').aid }), receipt, asked.log],
    ['signed by another hub', word({}, agent('another hub').identitySeed), receipt, asked.log],
    ['about another receipt', word({ receiptDigest: new Uint8Array(32) }), receipt, asked.log],
    ['shown for another receipt', word(), { ...other, bodyBytes: new Uint8Array(3) }, asked.log],
  ])('is not a word %s', (_, attestation, about, log) => {
    expect(attestedTime(attestation, about, log)).toBeUndefined()
  })
})

describe('the result of a receipt', () => {
  const receipt = Receipt.decode(fromHex(vectors.results.receipt))
  test('is the bytes that its content id names', () => {
    expect(resultMatches(receipt, fromHex(vectors.results.matches))).toBe(true)
  })

  test.each(vectors.results.differs)('is not other bytes: $reason', ({ result }) => {
    expect(resultMatches(receipt, fromHex(result))).toBe(false)
  })
})
