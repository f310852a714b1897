/** Long answers: read part by part, and whole as a file of this machine. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { delegated, type Lab, never, openPair, texts, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
let id: string
const answer = `${'a long line of it\n'.repeat(1_000)}end 🦊`

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  id = await delegated(alice, bob, 'write much')
  await bob.handlers.message({ interaction_id: id, text: answer }, never)
  await until('it is here', async () => (await texts(alice, id)).includes(answer))
})
afterAll(() => lab.close())

const fileOf = async (given: object) => {
  const [turn] = (await read({ text_files: true, ...given })).turns
  return turn?.text_file ?? { path: 'no file', bytes: 0, cid: '' }
}
const read = (given: object) => alice.handlers.thread({ interaction_id: id, from_turn: 2, ...given }, never)

describe('a long text', () => {
  test('is read part by part, each beginning where the one before ended', async () => {
    let [whole, parts, from_char] = ['', 0, 0 as number | undefined]
    while (from_char !== undefined && parts < 20) {
      const [turn] = (await read({ from_char, max_chars: 5_000 })).turns
      expect(turn).toMatchObject({ n: 2, truncated: true, chars: answer.length })
      whole += turn?.text
      parts++
      from_char = turn?.next_char
    }
    expect([whole === answer, parts]).toEqual([true, 4])
  })

  test('is cut between characters', async () => {
    const [turn] = (await read({ max_chars: answer.length - 1 })).turns
    expect(turn).toMatchObject({ text: answer.slice(0, -2), next_char: answer.length - 2 })
    const [rest] = (await read({ from_char: answer.length - 2, max_chars: 1 })).turns
    expect([rest?.text, rest?.next_char]).toEqual(['🦊', undefined])
  })

  test('is a file of its reader alone, whose bytes are those of its content id, also after somebody changed it', async () => {
    const { path, bytes, cid } = await fileOf({ max_chars: 10 })
    expect(readFileSync(path, 'utf8')).toBe(answer)
    expect([statSync(path).mode & 0o777, bytes]).toEqual([0o600, Buffer.byteLength(answer)])
    writeFileSync(path, answer.replace('long', 'Long'))
    expect(await fileOf({})).toEqual({ path, bytes, cid })
    expect(readFileSync(path, 'utf8')).toBe(answer)
  })

  test('that was written out may be handed on', async () => {
    const { path } = await fileOf({})
    const { turn: n } = await alice.handlers.message({ interaction_id: id, attach: [path] }, never)
    expect(n).toBeGreaterThan(0)
  })

  test('is removed after a week in which nobody read it', async () => {
    const { path } = await fileOf({})
    const [recent, old] = [6, 8].map(days => new Date(Date.now() - days * 86_400_000)) as [Date, Date]
    utimesSync(path, recent, recent)
    alice.ctx.attachments.removeOldTexts()
    expect(existsSync(path)).toBe(true)
    utimesSync(path, old, old)
    alice.ctx.attachments.removeOldTexts()
    expect(existsSync(path)).toBe(false)
  })

  test('is read without a file where none can be written', async () => {
    const { path } = await fileOf({})
    rmSync(dirname(path), { recursive: true })
    writeFileSync(dirname(path), '')
    const [turn] = (await read({ max_chars: 10, text_files: true })).turns
    expect([turn?.text, turn?.text_file]).toEqual([answer.slice(0, 10), undefined])
    rmSync(dirname(path))
    mkdirSync(dirname(path))
  })

  test('of one side itself, and a short one, is no file', async () => {
    const mine = await bob.handlers.thread({ interaction_id: id, text_files: true }, never)
    expect(mine.turns.map(turn => turn.text_file)).toEqual(mine.turns.map(() => undefined))
  })
})

describe('a message with words and a file to quote', () => {
  test('holds both; what is not text is refused', async () => {
    const file = join(lab.folder, 'quoted.txt')
    writeFileSync(file, 'from the file')
    await bob.handlers.message({ interaction_id: id, text: 'first this', file }, never)
    expect((await texts(bob, id)).at(-1)).toBe('first this\n\nfrom the file')
    for (const bytes of [Buffer.from('a\0b'), Buffer.from([0xff, 0xfe])]) {
      writeFileSync(file, bytes)
      await expect(bob.handlers.message({ interaction_id: id, file }, never)).rejects.toMatchObject({
        code: 'file_unreadable',
        message: expect.stringContaining('text'),
      })
    }
  })
})

describe('the evidence of one task', () => {
  test('is read by its id, and from a number downwards', async () => {
    const other = await delegated(alice, bob, 'something else')
    const { records } = await alice.handlers.evidence({ interaction_id: other }, never)
    expect(records).toMatchObject([{ event_type: 'svc.delegation.sent', payload: { interaction_id: other } }])
    const before = records[0]?.seq as number
    const older = await alice.handlers.evidence({ before, limit: 1 }, never)
    expect(older.records.map(record => record.seq)).toEqual([before - 1])
  })
})
