/** Files that came with a task: their text in pages, and a copy of one. */
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { attachmentCall, attachmentOf, requireWhole, withTask } from './attachment.ts'
import { size } from './budget.ts'
import type { OwnWords } from './fence.ts'
import type { ToolContext } from './tool.ts'

const ID = 'A'.repeat(22)
const CID = `bafkrei${'a'.repeat(52)}`
const folder = mkdtempSync(join(tmpdir(), 'svc-attached-'))
let files = 0
const written = (content: string | Uint8Array, name = `f${files++}`): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}
const attached = (path: string | null, more: object = {}) => ({
  name: 'notes.md',
  media_type: 'text/markdown',
  size: 5,
  cid: CID,
  path,
  ...more,
})

/** What is shown of a file that stands in one of these turns; each page has one turn. */
async function shown(turns: readonly object[][], more: object = {}, place = folder) {
  const asked: unknown[] = []
  const context = {
    fence: String,
    files: { place: async () => place },
    call: async (_: string, body: { from_turn: number }) => {
      asked.push(body)
      const next_turn = body.from_turn < turns.length ? body.from_turn + 1 : undefined
      return { turns: [{ attachments: turns[body.from_turn - 1] }], next_turn }
    },
  } as unknown as ToolContext
  const result = await attachmentOf('task_results', { id: ID, cid: CID, ...more }, context)
  return { ...result, asked, calls: (result['actions'] as OwnWords[] | undefined)?.map(String) }
}
const fault = (work: () => unknown): Promise<unknown> =>
  (async () => work())().then(
    () => undefined,
    ({ code, message }) => `${code}: ${message}`,
  )

describe('the text of a file', () => {
  test('is shown whole where it fits', async () => {
    const reply = await shown([[attached(written('words'))]])
    expect(reply).toMatchObject({ interaction_id: ID, text: 'words', calls: [] })
    expect(reply).not.toHaveProperty('next_char')
  })

  test('comes in pages that fit, each with the call for the next one', async () => {
    const text = Array.from({ length: 900 }, (_, n) => `line ${n} “ü😀”`).join('\n')
    const path = written(text)
    let read = ''
    for (let from_char: number | undefined = 0; from_char !== undefined; ) {
      const reply = await shown([[attached(path)]], { from_char, max_chars: 3_000 })
      read += (reply as { text?: string }).text
      expect(size({ ...reply, asked: [] })).toBeLessThan(3_000)
      from_char = (reply as { next_char?: number }).next_char
      const call = `task_results {"interaction_id":"${ID}","attachment":"${CID}","from_char":${from_char}}`
      expect(reply.calls).toEqual(from_char === undefined ? [] : [call])
    }
    expect(read).toBe(text)
  })

  test('takes as much of a page as what stands around it leaves', async () => {
    const {
      asked: _,
      calls: __,
      ...page
    } = await shown([[attached(written('x'.repeat(5_000)))]], {
      max_chars: 3_000,
    })
    expect(size(page)).toBe(3_000 - 700)
  })

  test.each([
    ['that is no UTF-8', Uint8Array.of(0xff, 0xfe)],
    ['with a NUL in it', 'a\0b'],
    ['of more than four MiB', 'x'.repeat(4 * 1024 * 1024 + 1)],
  ])('%s is none: the file can be saved', async (_, content) => {
    const reply = await shown([[attached(written(content))]])
    expect(reply).not.toHaveProperty('text')
    expect(reply.calls?.[0]).toContain('"save_to":"<absolute path of an open folder>"')
  })

  test('of four MiB is read', async () => {
    expect(await shown([[attached(written('x'.repeat(4 * 1024 * 1024)))]])).toHaveProperty('text')
  })
})

describe('a file', () => {
  test('is looked for in all turns, which are not read by that', async () => {
    const reply = await shown([[], [attached('/other', { cid: 'other' })], [attached(written('words'))]])
    expect(reply).toMatchObject({ text: 'words' })
    expect(reply.asked).toMatchObject([1, 2, 3].map(from_turn => ({ from_turn, mark_read: false })))
  })

  test('that is not there is said to be none of the task, or away', async () => {
    expect(await fault(() => shown([[], []]))).toMatch(/^bad_request: attachment: no file of this task/)
    expect(await fault(() => shown([[attached(null)]]))).toMatch(/^file_unreadable: .* not on this machine/)
    expect(await fault(() => shown([[attached(join(folder, 'gone'))]]))).toMatch(/^file_unreadable: .*gone/)
  })

  test('is saved once, for its user alone', async () => {
    const place = mkdtempSync(join(tmpdir(), 'svc-saved-'))
    const path = written('words')
    for (let twice = 0; twice < 2; twice++) {
      const reply = await shown([[attached(path)]], { save_to: place }, place)
      const saved = String((reply as { saved?: OwnWords }).saved)
      expect([readFileSync(saved, 'utf8'), statSync(saved).mode & 0o777]).toEqual(['words', 0o600])
      expect(reply).not.toHaveProperty('text')
    }
    expect(readdirSync(place)).toHaveLength(1)
  })

  test('is saved under eight letters of its content', async () => {
    const place = mkdtempSync(join(tmpdir(), 'svc-saved-'))
    const cid = `bafkrei${'a'.repeat(43)}bcdefghij`
    await shown([[attached(written('words'), { cid })]], { save_to: place, cid }, place)
    expect(readdirSync(place)).toEqual(['svc-notes-cdefghij.md'])
  })

  test.each(['other words', 'sword'])('takes the place of no other file: %s', async content => {
    const place = mkdtempSync(join(tmpdir(), 'svc-saved-'))
    const first = await shown([[attached(written('words'))]], { save_to: place }, place)
    const saved = String((first as { saved?: OwnWords }).saved)
    writeFileSync(saved, content)
    expect(await fault(() => shown([[attached(written('words'))]], { save_to: place }, place))).toMatch(
      /^file_unreadable: .*there is one already/,
    )
    expect(readFileSync(saved, 'utf8')).toBe(content)
  })
})

describe('a call', () => {
  test('names the task of an attachment, and the attachment that it saves', async () => {
    const whole = { interaction_id: ID, attachment: CID, save_to: folder }
    for (const given of [{}, { interaction_id: ID }, whole])
      expect(await fault(() => requireWhole(given))).toBeUndefined()
    expect(await fault(() => requireWhole({ attachment: CID }))).toMatch(/interaction_id: expected the task/)
    expect(await fault(() => requireWhole({ interaction_id: ID, save_to: folder }))).toMatch(
      /attachment: expected the cid/,
    )
  })

  test('that lacks one of them gets a place for it', () => {
    expect(withTask({ attachment: CID })).toEqual({ interaction_id: '<id>', attachment: CID })
    expect(withTask({ interaction_id: ID, save_to: '/x' })).toEqual({
      interaction_id: ID,
      save_to: '/x',
      attachment: '<cid>',
    })
    const whole = { interaction_id: ID, attachment: CID, save_to: '/x' }
    for (const given of [whole, { limit: 5 }, { interaction_id: ID }]) expect(withTask(given)).toEqual(given)
  })

  test('that reads a file is told where a turn shows one', () => {
    const call = `task_inbox {"interaction_id":"${ID}","attachment":"<cid>"}`
    expect(attachmentCall('task_inbox', ID, [{}, { attachments: [] }])).toEqual([call])
    expect(attachmentCall('task_inbox', ID, [{}])).toEqual([])
  })
})
