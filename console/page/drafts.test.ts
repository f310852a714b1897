/** Drafts of the page, which the node keeps. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { NodeRefused } from '../../view/node-client.ts'
import { KeptDrafts } from './drafts.ts'

type Asked = { name: string; input: Record<string, unknown> }
let asked: Asked[]
let answers: Record<string, () => unknown>
let drafts: KeptDrafts
let met: unknown[]
let missed: string[]

beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  answers = { draft: () => ({ text: '', files: [] }), draftKeep: () => ({ kept: true }) }
  const ask = async (name: string, input: object) => {
    asked.push({ name, input: input as Asked['input'] })
    return answers[name]?.()
  }
  met = []
  missed = []
  drafts = new KeptDrafts({ ask } as never, {
    meet: (name, other) => void met.push([name, other]),
    miss: paths => void missed.push(...paths),
  })
})
afterEach(() => void vi.useRealTimers())

const texts = () => asked.filter(({ name }) => name === 'draftKeep').map(({ input }) => input['text'])
const away = () => Promise.reject(new Error('the node is gone'))
const written = (text: string, files = '') => ({ text, files })

describe('what is written', () => {
  test('is kept half a second after the last change', async () => {
    drafts.keep('t', written('a'))
    await vi.advanceTimersByTimeAsync(499)
    drafts.keep('t', written('ab', '/x\n'))
    await vi.advanceTimersByTimeAsync(499)
    expect([texts(), drafts.isBehind]).toEqual([[], true])
    await vi.advanceTimersByTimeAsync(1)
    const was = { text: '', files: [] }
    expect(asked).toEqual([{ name: 'draftKeep', input: { for: 't', text: 'ab', files: ['/x'], was } }])
    expect(drafts.isBehind).toBe(false)
  })

  test('is kept at once where the page is left', async () => {
    drafts.keep('t', written('a'))
    drafts.keep('u', written('b'))
    drafts.keepAll()
    await vi.advanceTimersByTimeAsync(0)
    expect(texts()).toEqual(['a', 'b'])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(texts()).toHaveLength(2)
  })

  test('is given to a node that was gone after five seconds', async () => {
    answers['draftKeep'] = away
    drafts.keep('t', written('a'))
    await vi.advanceTimersByTimeAsync(500)
    expect([texts(), drafts.isBehind]).toEqual([['a'], true])
    await vi.advanceTimersByTimeAsync(4_999)
    expect(texts()).toHaveLength(1)
    answers['draftKeep'] = () => ({ kept: true })
    await vi.advanceTimersByTimeAsync(1)
    expect([texts(), drafts.isBehind]).toEqual([['a', 'a'], false])
  })

  test('while it is given is given again', async () => {
    let go: (reply: object) => void = () => {}
    answers['draftKeep'] = () =>
      new Promise(resolve => {
        go = resolve
      })
    drafts.keep('t', written('a'))
    await vi.advanceTimersByTimeAsync(500)
    drafts.keep('t', written('ab'))
    go({ kept: true })
    await vi.advanceTimersByTimeAsync(0)
    expect(drafts.isBehind).toBe(true)
    await vi.advanceTimersByTimeAsync(500)
    expect(texts()).toEqual(['a', 'ab'])
  })
})

describe('what the node holds', () => {
  test('is asked for once, and shown where it is something', async () => {
    answers['draft'] = () => ({ text: 'a', files: ['/x', '/y'] })
    expect(await drafts.load('t')).toEqual({ text: 'a', files: '/x\n/y' })
    expect(await drafts.load('t')).toBeUndefined()
    answers['draft'] = () => ({ text: '', files: [] })
    expect(await drafts.load('u')).toBeUndefined()
    answers['draft'] = () => ({ text: '', files: ['/x'] })
    expect(await drafts.load('v')).toEqual({ text: '', files: '/x' })
    expect(asked).toHaveLength(3)
  })

  test('is asked for again where the node did not answer, and not where the page knows better', async () => {
    answers['draft'] = away
    expect(await drafts.load('t')).toBeUndefined()
    answers['draft'] = () => ({ text: 'a', files: [] })
    expect(await drafts.load('t')).toEqual({ text: 'a', files: '' })
    drafts.keep('u', written('mine'))
    expect(await drafts.load('u')).toBeUndefined()
  })
})

describe('words of another screen', () => {
  const other = { text: 'theirs', files: [] }

  test('stay with the node, are given to the page, and are known from then on', async () => {
    answers['draftKeep'] = () => ({ kept: true, other })
    drafts.keep('t', written('mine'))
    await vi.advanceTimersByTimeAsync(500)
    expect([met, drafts.isBehind]).toEqual([[['t', other]], false])
    answers['draftKeep'] = () => ({ kept: true })
    drafts.keep('t', written('theirs, mine'))
    await vi.advanceTimersByTimeAsync(500)
    expect(asked.at(-1)?.input).toMatchObject({ text: 'theirs, mine', was: other })
  })

  test('are not those that this page gave to a node whose answer was lost', async () => {
    answers['draftKeep'] = away
    drafts.keep('t', written('a b'))
    await vi.advanceTimersByTimeAsync(500)
    drafts.keep('t', written('a c'))
    let times = 0
    answers['draftKeep'] = () => {
      times += 1
      return times === 1 ? { kept: true, other: { text: 'a b', files: [] } } : { kept: true }
    }
    await vi.advanceTimersByTimeAsync(500)
    expect([texts(), met, drafts.isBehind]).toEqual([['a b', 'a c', 'a c'], [], false])
    expect(asked.at(-1)?.input).toMatchObject({ was: { text: 'a b', files: [] } })
  })

  test('show where nothing was written here, also that they were sent', async () => {
    answers['draft'] = () => ({ text: 'a', files: [] })
    await drafts.load('t')
    expect(await drafts.newer('t', written('a'))).toBeUndefined()
    answers['draft'] = () => ({ text: 'a b', files: ['/x'] })
    expect(await drafts.newer('t', written('changed here'))).toBeUndefined()
    expect(await drafts.newer('t', written('a'))).toEqual({ text: 'a b', files: '/x' })
    answers['draft'] = () => ({ text: '', files: [] })
    expect(await drafts.newer('t', written('a b', '/x'))).toEqual({ text: '', files: '' })
    answers['draft'] = away
    expect(await drafts.newer('t', written(''))).toBeUndefined()
  })
})

describe('files that the node has no more', () => {
  test('are known once a draft is opened, kept, or looked at again', async () => {
    answers['draft'] = () => ({ text: 'a', files: ['/x'], gone: ['/x'] })
    await drafts.load('t')
    answers['draftKeep'] = () => ({ kept: true, gone: ['/y'] })
    drafts.keep('u', written('b', '/y'))
    await vi.advanceTimersByTimeAsync(500)
    answers['draft'] = () => ({ text: 'a', files: ['/x', '/z'], gone: ['/z'] })
    expect(await drafts.newer('t', written('a', '/x'))).toEqual({ text: 'a', files: '/x\n/z' })
    expect(missed).toEqual(['/x', '/y', '/z'])
  })

  test('are asked for where what was sent had a file that could not be read', async () => {
    answers['draftKeep'] = () => ({ kept: true, gone: ['/x'] })
    await drafts.lookAfter(new NodeRefused('too_large', 'it is too long'), 't', written('a', '/x'))
    expect(missed).toEqual([])
    await drafts.lookAfter(new NodeRefused('file_unreadable', 'gone'), 't', written('a', '/x'))
    expect(missed).toEqual(['/x'])
  })
})

describe('what was sent', () => {
  test('is dropped as the node had it, and what waited with it', async () => {
    answers['draft'] = () => ({ text: 'a', files: ['/x'] })
    await drafts.load('t')
    drafts.keep('t', written('ab'))
    await drafts.drop('t')
    expect(asked.at(-1)?.input).toEqual({ for: 't', text: '', files: [], was: { text: 'a', files: ['/x'] } })
    expect(drafts.isBehind).toBe(false)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(asked).toHaveLength(2)
  })

  test('is loaded anew afterwards, but not where the node held something else', async () => {
    await drafts.drop('t')
    expect(asked.at(-1)?.input).toMatchObject({ was: { text: '', files: [] } })
    drafts.keep('t', written('a'))
    await vi.advanceTimersByTimeAsync(500)
    answers['draftKeep'] = () => ({ kept: false })
    await drafts.drop('t')
    answers['draft'] = () => ({ text: 'newer', files: [] })
    expect(await drafts.load('t')).toBeUndefined()
    answers['draftKeep'] = () => ({ kept: true })
    await drafts.drop('t')
    expect(asked.at(-1)?.input).toMatchObject({ was: { text: '', files: [] } })
    expect(await drafts.load('t')).toEqual({ text: 'newer', files: '' })
  })
})
