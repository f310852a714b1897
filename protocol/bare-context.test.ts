import { readdirSync, readFileSync } from 'node:fs'
import * as vm from 'node:vm'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'

/** What a page would do, on the portable engine: texts in, texts out. */
const PAGE = `
import { fromBase64, fromBase64url, fromHex, toBase64, toBase64url, toHex } from './encoding/bytes.ts'
import { Refusal } from './encoding/errors.ts'
import { decodeKel, keyAt, verifyKel } from './identity/kel.ts'
import { openEnvelope } from './mail/open.ts'
import { sealEnvelope } from './mail/seal.ts'
import { readRecord, recordSignatureHolds } from './proof/evidence.ts'
import { judgeReceipt } from './proof/judge.ts'
import { Receipt } from './proof/receipt.ts'
import { wire3Routes } from './wire3/routes.ts'

const log = hex => verifyKel(decodeKel(fromHex(hex)))
const said = work => {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}
export const names = [typeof openEnvelope, typeof sealEnvelope, typeof wire3Routes].join()
export const texts = hex => {
  const bytes = fromHex(hex)
  return [toHex(bytes), toBase64url(bytes), toBase64(bytes)]
}
export const taken = (form, text) => said(() => toHex({ fromBase64, fromBase64url, fromHex }[form](text)))
export const kel = hex => said(() => log(hex).aid + ' ' + toHex(log(hex).headDigest))
export const receipt = (receipt, kel, hubKel, shownAt) => judgeReceipt(Receipt.decode(fromHex(receipt)), log(kel), {
  ...(hubKel === undefined ? {} : { hub: log(hubKel) }),
  ...(shownAt === null ? {} : { evidence: { at: shownAt, source: 'the hub' } }),
}).verdict
export const record = (bytes, seq, previous, chainDid, kel) => said(() => {
  const read = readRecord(fromHex(bytes), { seq, previous: fromHex(previous), chainDid })
  const key = keyAt(log(kel), read.record.keyStateSeq)
  return key !== undefined && recordSignatureHolds(key, read) ? toHex(read.record.id) : 'signature'
})
`
type Page = {
  names: string
  texts(hex: string): string[]
  taken(form: string, text: string): string
  kel(log: string): string
  receipt(receipt: string, kel: string, hubKel: string | undefined, shownAt: number | null): string
  record(bytes: string, seq: number, previous: string, chainDid: string, kel: string): string
}
let bundle: string
let page: Page
let context: vm.Context

const read = (path: string) =>
  JSON.parse(readFileSync(new URL(`../fixtures/${path}`, import.meta.url), 'utf8'))

beforeAll(async () => {
  const built = await build({
    stdin: { contents: PAGE, resolveDir: new URL('.', import.meta.url).pathname, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'page',
    platform: 'browser',
    logLevel: 'silent',
  })
  bundle = built.outputFiles[0]?.text ?? ''
  // the language itself, and what every browser has for text
  context = vm.createContext({ TextEncoder, TextDecoder })
  // an older runtime: no conversions of its own
  vm.runInContext('delete Uint8Array.prototype.toBase64', context)
  page = vm.runInContext(`${bundle};page`, context) as Page
})

describe('the protocol in a bare context', () => {
  test('needs nothing of Node', () => {
    const absent = vm.runInContext('[typeof process, typeof Buffer, typeof require].join()', context)
    expect(absent).toBe('undefined,undefined,undefined')
    expect(bundle).not.toMatch(/\bBuffer\.(from|alloc|byteLength)|["']node:/)
    expect(page.names).toBe('function,function,object')
  })

  test('turns bytes into text and back by itself where the runtime cannot', () => {
    for (let length = 0; length < 70; length++) {
      const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 37 + length) & 255))
      const forms = [bytes.toString('hex'), bytes.toString('base64url'), bytes.toString('base64')]
      expect([...page.texts(forms[0] as string)]).toEqual(forms)
      const back = ['fromHex', 'fromBase64url', 'fromBase64'].map((form, i) =>
        page.taken(form, forms[i] as string),
      )
      expect(back).toEqual(Array(3).fill(forms[0]))
    }
    for (const [form, text] of [
      ['fromHex', 'abc'],
      ['fromHex', 'AB'],
      ['fromBase64url', 'A'],
      ['fromBase64url', 'AB'],
      ['fromBase64url', 'AA=='],
      ['fromBase64url', 'A A'],
      ['fromBase64url', 'A+8'],
      ['fromBase64url', 'A\u00e9A'],
      ['fromBase64', 'AA'],
      ['fromBase64', 'AA=A'],
      ['fromBase64', 'A-8='],
      ['fromBase64', 'A==='],
    ] as const)
      expect(page.taken(form, text), text).toBe('malformed')
  })

  test.each(['inception', 'rotated-twice', 'deactivated'])('verifies the log %s', name => {
    const vector = read(`kel/valid/${name}.json`) as { log: string; aid: string; head_digest: string }
    expect(page.kel(vector.log)).toBe(`${vector.aid} ${vector.head_digest}`)
  })

  test.each(readdirSync(new URL('../fixtures/kel/invalid', import.meta.url)))('refuses %s', file => {
    const vector = read(`kel/invalid/${file}`) as { log: string; fault: string }
    expect(page.kel(vector.log)).toBe(vector.fault)
  })

  test('judges receipts', () => {
    const { hubKel, cases } = read('judge/judgements.json') as {
      hubKel: string
      cases: {
        reason: string
        receipt: string
        kel: string
        hubKnown: boolean
        shownAt: number | null
        verdict: string
      }[]
    }
    expect(new Set(cases.map(({ verdict }) => verdict)).size).toBe(3)
    for (const { reason, receipt, kel, hubKnown, shownAt, verdict } of cases)
      expect(page.receipt(receipt, kel, hubKnown ? hubKel : undefined, shownAt), reason).toBe(verdict)
  })

  test('follows an evidence chain, and refuses what is not its next record', () => {
    const chain = read('evidence/chain.json') as {
      kel: string
      chainDid: string
      genesis: { id: string }
      records: { record: string; id: string }[]
      place: { seq: number; previous: string; chainDid: string }
      invalid: { reason: string; fault: string; record: string }[]
    }
    let previous = chain.genesis.id
    for (const [seq, { record, id }] of chain.records.entries()) {
      expect(page.record(record, seq, previous, chain.chainDid, chain.kel)).toBe(id)
      previous = id
    }
    for (const { reason, fault, record } of chain.invalid)
      expect(
        page.record(record, chain.place.seq, chain.place.previous, chain.place.chainDid, chain.kel),
        reason,
      ).toBe(fault)
  })
})
