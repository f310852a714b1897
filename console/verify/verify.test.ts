/** What the page that verifies makes of what it is given: every vector, and files that want to vanish or to stop it. */
import { describe, expect, test } from 'vitest'
import { fromHex, toBase64, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { Receipt } from '../../protocol/proof/receipt.ts'
import { fixture } from '../../protocol/testing/agents.ts'
import { type Item, itemsOfFile, itemsOfText } from './material.ts'
import { type Card, cardsOf } from './verdicts.ts'

const chains = fixture<{
  cases: { reason: string; file: string; heads: string[]; verdict: string; headVerdicts?: string[] }[]
}>('evidence/exports.json').cases
const receipts = fixture<{
  providerKel: string
  valid: { reason: string; receipt: string; body: Record<string, unknown> }[]
  invalid: { reason: string; fault: string; receipt: string }[]
}>('receipt/receipts.json')
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
const hostile = fixture<{
  cases: HostileCase[]
  chains: { reason: string; file: string; kels: string[]; verdict: string }[]
}>('judge/hostile.json')

const pause = async () => {}
const base64 = (hex: string) => toBase64(fromHex(hex))
const pasted = (text: string, name = 'pasted') => itemsOfText(name, text, pause)
const dropped = (content: string | Uint8Array, name = 'dropped') =>
  itemsOfFile(name, typeof content === 'string' ? utf8(content) : content, pause)
const kinds = (items: readonly Item[]) => items.map(({ kind }) => kind)
const cards = (items: readonly Item[], named: string[] = []) =>
  cardsOf(items, { hubs: new Set(named) }, async () => {})
const words = (shown: readonly Card[]) => shown.map(({ word }) => word)
const [valid] = receipts.valid as [(typeof receipts.valid)[number]]

describe('what is given', () => {
  test.each([
    ['a receipt', valid.receipt, 'receipt'],
    ['a key history', receipts.providerKel, 'log'],
    ['a head', chains.find(({ heads }) => heads.length > 0)?.heads[0] ?? '', 'head'],
  ])('is known as %s by its form, as base64 of either kind, with blanks in it', async (_, hex, kind) => {
    const text = base64(hex)
    const url = toBase64url(fromHex(hex))
    for (const form of [text, url, ` ${text.slice(0, 9)}\n${text.slice(9)} `])
      expect(['receipt', kind]).toContain(kinds(await pasted(form))[0])
  })

  test('in a reply of svc is each of its members, at any depth', async () => {
    const reply = {
      a: [{ receipt: base64(valid.receipt) }, { kel: base64(receipts.providerKel) }],
      b: 'words',
    }
    expect(kinds(await pasted(JSON.stringify(reply)))).toEqual(['receipt', 'log'])
    expect(kinds(await pasted(`\n ${JSON.stringify([reply])}`))).toEqual(['receipt', 'log'])
  })

  test('under the name of one of these and is none is refused by its name', async () => {
    const items = await pasted(JSON.stringify({ receipt: 'AAAA', kel: '?', head: 5 }), 'reply')
    expect(items).toMatchObject([
      { kind: 'refused', name: 'reply: receipt' },
      { kind: 'refused', name: 'reply: kel', why: 'it is no base64' },
    ])
  })

  test('is a file as well where it was dropped, with what it holds; a chain is none', async () => {
    const reply = JSON.stringify({
      a: [{ receipt: base64(valid.receipt) }, { receipt: base64(valid.receipt) }],
    })
    const items = await dropped(reply)
    expect(items.at(-1)).toMatchObject({ kind: 'file', holds: ['a receipt', 'a receipt'] })
    const [chain] = chains as [(typeof chains)[number]]
    expect(kinds(await dropped(chain.file))).toEqual(['chain'])
    expect(kinds(await dropped(Uint8Array.of(0xff)))).toEqual(['file'])
  })

  test('and is none of ours is a file, also where it was pasted', async () => {
    for (const text of ['words', '', '{"a":', '{"a":1}', '[]'])
      expect(kinds(await pasted(text))).toEqual(['file'])
  })

  test('is found below a member of the same name, and beside members that hold nothing', async () => {
    const reply = {
      a: null,
      receipt: { receipt: base64(valid.receipt) },
      kel: [base64(receipts.providerKel)],
    }
    expect(kinds(await pasted(JSON.stringify(reply)))).toEqual(['receipt'])
  })

  test('as base64 of more than 400,000 characters is a file and nothing else', async () => {
    const text = (length: number) => base64(valid.receipt).padEnd(length, ' ')
    expect(kinds(await dropped(text(400_000)))).toEqual(['receipt', 'file'])
    expect(kinds(await dropped(text(400_001)))).toEqual(['file'])
  })

  test('as JSON of more than 200,000 values and names is a file and nothing else', async () => {
    // the list, the reply, and the name and value of its member are four of them
    const text = (values: number) =>
      JSON.stringify([{ receipt: base64(valid.receipt) }, ...Array<number>(values - 4).fill(0)])
    expect(kinds(await dropped(text(200_000)))).toEqual(['receipt', 'file'])
    expect(kinds(await dropped(text(200_001)))).toEqual(['file'])
  })

  test('in such a number is looked at up to 256 things', async () => {
    const many = (count: number) =>
      JSON.stringify(Array.from({ length: count }, () => ({ receipt: base64(valid.receipt) })))
    expect(await pasted(many(256))).toHaveLength(256)
    const items = await dropped(many(257))
    expect(items.at(-2)).toMatchObject({ kind: 'refused', why: expect.stringContaining('more than 256') })
    expect(items.at(-1)).toMatchObject({ kind: 'file', holds: Array(256).fill('a receipt') })
  })

  test('as a JSON text of more than eight MiB is a file and nothing else', async () => {
    const text = (length: number) => {
      const reply = JSON.stringify({ receipt: base64(valid.receipt) })
      return `${' '.repeat(length - reply.length)}${reply}`
    }
    expect(kinds(await dropped(text(8 * 1024 * 1024)))).toEqual(['receipt', 'file'])
    expect(kinds(await dropped(text(8 * 1024 * 1024 + 1)))).toEqual(['file'])
  })
})

describe('a receipt', () => {
  const given = async (hex: string, ...more: string[]) =>
    cards((await Promise.all([hex, ...more].map(one => pasted(base64(one))))).flat())

  test.each(receipts.valid)('$reason is valid beside the key history of its provider', async one => {
    const { receipt, reason } = one
    const [card] = await given(receipt, receipts.providerKel)
    // nothing shows when it was signed
    const isRetired = /an earlier key/.test(reason)
    expect(card).toMatchObject(isRetired ? { tone: 'bad', word: 'invalid' } : { tone: 'good', word: 'valid' })
    expect(card?.says.includes('Drop the result file to check the content too.')).toBe(!isRetired)
  })

  test('is shown with its times, as dates', async () => {
    const [card] = await given(valid.receipt, receipts.providerKel)
    const { start, end } = Receipt.decode(fromHex(valid.receipt)).body
    expect(card?.facts).toContainEqual(['started', new Date(start).toISOString()])
    expect(card?.facts).toContainEqual(['ended', new Date(end).toISOString()])
  })

  test('is not checked without that history', async () => {
    const [card] = await given(valid.receipt)
    expect(card).toMatchObject({ tone: 'open', word: 'not checked', title: 'Receipt' })
    expect(card?.says).toContain('is missing')
  })

  test.each(hostile.cases)('$reason: $verdict', async one => {
    const { receipt, kel, kels = [], before = [], attestation, hubKel, named } = one
    const shown = [...before, ...(attestation && hubKel ? [{ attestation, hubKel }] : [])]
    const all = [receipt, kel, ...kels, ...shown.flatMap(pair => [pair.attestation, pair.hubKel])]
    const items = (await Promise.all(all.map(hex => pasted(base64(hex))))).flat()
    const [card] = (await cards(items, named)).filter(({ title }) => title === 'Receipt')
    const expected: Record<string, string> = {
      valid: 'valid',
      valid_retired_key: 'valid, key since retired',
      open: 'open',
      invalid: 'invalid',
    }
    expect(card?.word).toBe(expected[one.verdict] ?? 'not checked')
  })
})

describe('a file', () => {
  const { results: judged, cases } = fixture<{
    results: { receipt: string; matches: string; differs: { result: string }[] }
    cases: { kel: string; verdict: string }[]
  }>('judge/judgements.json')

  test('that is the result of a receipt is named beside its verdict', async () => {
    const { kel } = cases.find(({ verdict }) => verdict === 'valid') as { kel: string }
    const receipt = [...(await pasted(base64(judged.receipt))), ...(await pasted(base64(kel)))]
    const [card] = await cards([...receipt, ...(await dropped(fromHex(judged.matches)))])
    expect(card).toMatchObject({ word: 'valid', title: 'Receipt' })
    expect(card?.says).toMatch(/ The result file is the one it names\.$/)
  })

  test('is held against what receipts name', async () => {
    const receipt = await pasted(base64(judged.receipt))
    const [, good] = await cards([...receipt, ...(await dropped(fromHex(judged.matches)))])
    expect(good).toMatchObject({ tone: 'good', word: 'matches', says: expect.stringContaining('the result') })
    const [, wrong] = await cards([...receipt, ...(await dropped(fromHex(judged.differs[0]?.result ?? '')))])
    expect(wrong).toMatchObject({
      tone: 'bad',
      word: 'no match',
      says: expect.stringContaining('was altered'),
    })
  })

  test('beside no receipt waits for one, and one that was read for what it holds says so', async () => {
    expect(await cards(await dropped('words'))).toMatchObject([{ tone: 'open', word: 'no match' }])
    const [card] = (await cards(await dropped(base64(receipts.providerKel)))).slice(-1)
    expect(card).toMatchObject({ tone: 'read', word: 'read' })
    expect(card?.facts).toContainEqual(['holds', 'a key history'])
  })

  test('that holds the same twice says so', async () => {
    const reply = [{ kel: base64(receipts.providerKel) }, { kel: base64(receipts.providerKel) }]
    const [card] = (await cards(await dropped(JSON.stringify(reply)))).slice(-1)
    expect(card?.facts).toContainEqual(['holds', 'a key history, 2 times'])
  })

  test('that cannot be read is bad, unchecked', async () => {
    expect(await cards(await pasted(JSON.stringify({ receipt: 'AAAA' }), 'x'))).toMatchObject([
      { tone: 'bad', word: 'unreadable', title: 'x: receipt', unchecked: true },
    ])
  })
})

/** What is said of a head, by its verdict. */
const SAID: Record<string, string> = {
  shown: 'on this chain',
  beyond: 'beyond its end',
  contradicted: 'contradicts it',
  foreign: 'not of this chain',
}

describe('a chain', () => {
  test.each(chains)('$reason: $verdict', async ({ file, heads, verdict, headVerdicts }) => {
    const held = (await Promise.all(heads.map(head => pasted(base64(head))))).flat()
    const items = held.flatMap((item): Item[] =>
      item.kind === 'receipt' ? [{ kind: 'head', head: { receipt: item.receipt } }] : [item],
    )
    const [card] = (await cards([...items, ...(await dropped(file))])).slice(-1)
    expect(card?.word).toBe(verdict)
    expect(card?.tone === 'bad').toBe(verdict !== 'valid')
    if (headVerdicts === undefined) return
    const shown = card?.facts.filter(([name]) => name.startsWith('head in')) ?? []
    expect(shown.map(([, says]) => says.replace(/:.*/, ''))).toEqual(headVerdicts.map(one => SAID[one]))
  })

  test.each(hostile.chains)('$reason: $verdict', async ({ file, kels, verdict }) => {
    const logs = (await Promise.all(kels.map(kel => pasted(base64(kel))))).flat()
    const [card] = (await cards([...logs, ...(await dropped(file))])).slice(-1)
    expect(card?.word).toBe(verdict === 'not_checked' ? 'not checked' : verdict)
  })

  test('whose first line does not hold says why, and is read no further', async () => {
    const [good] = chains.filter(({ verdict }) => verdict === 'valid') as [(typeof chains)[number]]
    const [first = '', ...rest] = good.file.split('\n')
    const broken = [first.slice(0, -8), ...rest].join('\n')
    const items: Item[] = [{ kind: 'chain', name: 'x', text: broken }]
    expect(await cards(items)).toMatchObject([{ tone: 'bad', word: 'invalid', title: 'x' }])
  })

  test('that begins with an empty line is one without a first line', async () => {
    const says = async (text: string) => (await cards([{ kind: 'chain', name: 'x', text }]))[0]?.says
    const [good] = chains as [(typeof chains)[number]]
    expect(await says(`\n${good.file}`)).toBe(await says(''))
  })

  test('whose owner has two key histories is not checked, and the contradiction is told first', async () => {
    const forked = hostile.chains.find(({ kels }) => kels.length === 2)
    const { file, kels } = forked as (typeof hostile.chains)[number]
    const logs = (await Promise.all(kels.map(kel => pasted(base64(kel))))).flat()
    const [first] = await cards([...logs, ...(await dropped(file))])
    expect(first).toMatchObject({ tone: 'bad', word: 'contradiction', unchecked: true })
  })

  test('is shown with up to sixty facts, and how many more there are', async () => {
    const { file, heads } = chains.find(one => one.heads.length > 0) as (typeof chains)[number]
    const [head] = await pasted(JSON.stringify({ head: base64(heads[0] as string) }))
    const facts = async (count: number) => {
      const given = Array.from({ length: count }, () => head as Item)
      return (await cards([...given, ...(await dropped(file))])).at(-1)?.facts ?? []
    }
    const few = (await facts(1)).length
    const all = await facts(61 - few)
    expect([all.length, all.some(([name]) => name === 'more')]).toEqual([60, false])
    for (const left of [1, 2]) {
      const more = await facts(61 - few + left)
      expect([more.length, more.at(-1)]).toEqual([61, ['more', `${left} facts that are not shown`]])
    }
  })

  test('without an end of its last line is the same chain', async () => {
    const [good] = chains.filter(({ verdict }) => verdict === 'valid') as [(typeof chains)[number]]
    const [one] = await cards(await dropped(good.file))
    const [other] = await cards(await dropped(good.file.replace(/\n$/, '')))
    expect(other).toEqual(one)
  })

  test('is waited for where heads of one are given alone', async () => {
    const { heads } = chains.find(one => one.heads.length > 0) as (typeof chains)[number]
    const items = await pasted(JSON.stringify({ head: base64(heads[0] as string) }))
    expect(words(await cards(items))).toEqual(['waiting'])
  })
})

test('the page may draw after each twenty signatures', async () => {
  const [receipt] = await pasted(base64(valid.receipt))
  const told: [number, number][] = []
  const items = Array.from({ length: 41 }, () => receipt as Item)
  await cardsOf(items, { hubs: new Set() }, async (done, of) => void told.push([done, of]))
  expect(told).toEqual([
    [0, 41],
    [20, 41],
    [40, 41],
  ])
})

test('of more than four hundred cards the others are counted', async () => {
  const [file] = await dropped('words')
  const many = (count: number) => Array.from({ length: count }, () => file as Item)
  expect(await cards(many(400))).toHaveLength(400)
  const shown = await cards(many(402))
  expect([shown.length, shown.at(-1)?.title]).toEqual([401, '2 more'])
})
