/** Drafts of the page, which the node keeps. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { KeptDrafts } from './drafts.ts'

type Asked = { name: string; input: Record<string, unknown> }
let asked: Asked[]
let answers: Record<string, () => unknown>
let drafts: KeptDrafts

beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  answers = { draft: () => ({ text: '', files: [] }), draftKeep: () => ({ kept: true }) }
  const ask = async (name: string, input: object) => {
    asked.push({ name, input: input as Asked['input'] })
    return answers[name]?.()
  }
  drafts = new KeptDrafts({ ask } as never)
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
    expect(asked).toEqual([{ name: 'draftKeep', input: { for: 't', text: 'ab', files: ['/x'] } }])
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
