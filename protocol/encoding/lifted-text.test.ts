/** Long texts that are taken out of JSON while it comes. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concat, fromUtf8, toBase64, utf8 } from './bytes.ts'
import { parseJson } from './json.ts'
import { jsonWithText, liftTexts, TooMuchBeside } from './lifted-text.ts'

const lifting = { member: 'payload', depth: 1, restBytesMax: 1000 }

async function* inPieces(bytes: Uint8Array, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

/** What is left of JSON in pieces of a length, and the texts that were taken out. */
async function lifted(json: string | Uint8Array, length = 7, given: Partial<typeof lifting> = {}) {
  const texts: { bytes: Uint8Array; ended: boolean }[] = []
  const bytes = typeof json === 'string' ? utf8(json) : json
  const rest = await liftTexts(inPieces(bytes, length), { ...lifting, ...given }, () => {
    const text: { bytes: Uint8Array; ended: boolean } = { bytes: new Uint8Array(0), ended: false }
    texts.push(text)
    return {
      take(more) {
        text.bytes = concat(text.bytes, more)
      },
      end() {
        text.ended = true
      },
    }
  })
  expect(texts.every(({ ended }) => ended)).toBe(true)
  return { rest: fromUtf8(rest), texts: texts.map(({ bytes }) => Buffer.from(bytes).toString()) }
}

const base64 = (text: string): string => toBase64(utf8(text))

describe('a long text', () => {
  it('is taken out wherever it stands, and an empty one is left', async () => {
    for (const length of [1, 2, 3, 7, 1000]) {
      expect(await lifted(`{"a":1,"payload":"${base64('hello there')}","b":"x"}`, length)).toEqual({
        ...{ rest: '{"a":1,"payload":"","b":"x"}', texts: ['hello there'] },
      })
      expect(await lifted(`{ "payload" :\n"${base64('hi')}" }`, length)).toEqual({
        ...{ rest: '{ "payload" :\n"" }', texts: ['hi'] },
      })
    }
  })

  it('is empty where it is, and is none where the value is no text', async () => {
    expect(await lifted('{"payload":""}')).toEqual({ rest: '{"payload":""}', texts: [''] })
    for (const value of ['7', 'null', '["eA=="]', '{"payload":"eA=="}', '{"x":"payload"}'])
      expect(await lifted(`{"payload":${value}}`)).toEqual({ rest: `{"payload":${value}}`, texts: [] })
  })

  it('is found under a name with escapes, and read where it has some itself', async () => {
    const slashes = toBase64(new Uint8Array([255, 255, 255])).replaceAll('/', '\\/')
    for (const text of [slashes, '\\u002f\\u002F//'])
      expect(await lifted(`{"p\\u0061yload":"${text}"}`, 1)).toMatchObject({
        rest: '{"p\\u0061yload":""}',
        texts: [Buffer.from([255, 255, 255]).toString()],
      })
  })

  it('is no value of the same name elsewhere, and no text that looks like a member', async () => {
    for (const json of [
      '{"x":{"payload":"eA=="}}',
      '{"payload2":"eA=="}',
      '{"x":"\\"payload\\":\\"eA==\\""}',
      '["payload","eA=="]',
      '{"y\\"payload":"eA=="}',
    ])
      expect(await lifted(json, 1)).toEqual({ rest: json, texts: [] })
  })

  it('is found at the depth that was asked for, one after another', async () => {
    const json = `{"messages":[{"payload":"${base64('one')}"},{"id":"2","payload":"${base64('two')}"}]}`
    expect(await lifted(json, 5, { depth: 3 })).toEqual({
      rest: '{"messages":[{"payload":""},{"id":"2","payload":""}]}',
      texts: ['one', 'two'],
    })
  })

  it('that comes twice is taken out twice, and refused by who reads the rest', async () => {
    const { rest, texts } = await lifted('{"payload":"eA==","p\\u0061yload":"eQ=="}')
    expect(texts).toEqual(['x', 'y'])
    expect(() => parseJson(rest)).toThrow(/duplicate/)
  })

  it('is refused where it is not strict base64', async () => {
    for (const text of ['e', 'eA', 'eA=', 'eB==', 'eA==eA==', 'e A=', 'eA-_', 'eA==A', '=', 'é==='])
      for (const length of [1, 1000])
        await expect(lifted(`{"payload":"${text}"}`, length)).rejects.toThrow(/base64/)
    for (const other of ['AA\\"=', '\\"AAA', 'AAAA\\u0022', '\\n', '\\u2f41'])
      for (const length of [1, 2, 1000])
        await expect(lifted(`{"payload":"${other}"}`, length)).rejects.toThrow(/base64/)
    for (const none of ['\\x', '\\u12g4'])
      await expect(lifted(`{"payload":"${none}"}`)).rejects.toThrow(/escape/)
  })

  it.each(['\\/', '\\u0041'])(
    'of many escapes (%s) is handed on in large pieces, however it comes',
    async unit => {
      const characters = 128 * 1024
      const body = utf8(`{"payload":"${unit.repeat(characters)}"}`)
      for (const length of [3, 64 * 1024]) {
        const taken: number[] = []
        await liftTexts(inPieces(body, length), lifting, () => ({
          take: piece => void taken.push(piece.length),
          end() {},
        }))
        expect(taken.reduce((sum, one) => sum + one, 0)).toBe((characters / 4) * 3)
        expect(taken.length).toBeLessThanOrEqual(3)
      }
    },
  )

  it('leaves no room for much beside it', async () => {
    await expect(lifted(`{"payload":"eA==","more":"${'x'.repeat(1000)}"}`)).rejects.toThrow(TooMuchBeside)
    await expect(lifted(`{${' '.repeat(1000)}`)).rejects.toThrow(TooMuchBeside)
    await expect(lifted(`{"${'x'.repeat(1000)}`)).rejects.toThrow(TooMuchBeside)
  })

  it('that ends too early leaves JSON that is refused', async () => {
    for (const json of ['{"payload":"eA==', '{"payload":"eA=="', '{"payl']) {
      const rest = await liftTexts(inPieces(utf8(json), 3), lifting, () => ({ take() {}, end() {} }))
      expect(() => parseJson(rest)).toThrow()
    }
  })
})

describe('JSON with a long text', () => {
  it('is what it would be as a whole, and comes back', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 9 }), fc.jsonValue({ maxDepth: 2 }), {
          maxKeys: 3,
        }),
        fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 40 }),
        async (members, parts, length) => {
          const pieces: Uint8Array[] = []
          for await (const piece of jsonWithText(members, 'payload', parts)) pieces.push(piece)
          const { payload: _, ...others } = members
          const whole = { ...others, payload: toBase64(concat(...parts)) }
          expect(fromUtf8(concat(...pieces))).toBe(JSON.stringify(whole))
          const { rest, texts } = await lifted(concat(...pieces), length, { restBytesMax: 1e6 })
          expect(rest).toBe(JSON.stringify({ ...whole, payload: '' }))
          expect(texts).toEqual([Buffer.from(concat(...parts)).toString()])
        },
      ),
    )
  })
})
