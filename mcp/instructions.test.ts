/** A server says nothing of tools that it does not have: at its start, after an error, in its news. */
import { describe, expect, test } from 'vitest'
import { controlCodes } from '../protocol/control/codes.ts'
import { OperationRefused } from '../protocol/control/refusal.ts'
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { channelMessage } from './channel.ts'
import { fenceWith } from './fence.ts'
import { instructions } from './instructions.ts'
import { explain } from './next.ts'
import type { ToolContext } from './tool.ts'
import { tools } from './tools/all.ts'

const id = 'AAAAAAAAAAAAAAAAAAAAAA'
const names = tools.map(tool => tool.name)
const namedIn = (text: string) => names.filter(name => new RegExp(`\\b${name}\\b`).test(text))
const reading = tools.filter(tool => tool.annotations.readOnlyHint)
const offers = [
  ...tools.map(tool => [tool]),
  ...tools.map(left => tools.filter(tool => tool !== left)),
  reading,
].map(offered => [offered.map(tool => tool.name).join(), offered] as const)

describe.each(offers)('with %s', (_, offered) => {
  const here = offered.map(tool => tool.name)
  const context = {
    fence: fenceWith('00c0ffee'),
    command: (line: string) => line,
    absent: new Set(names.filter(name => !here.includes(name))),
  } as unknown as ToolContext

  test('the instructions, and news, name these alone', () => {
    const said = { wrote: true, proposes_end: true }
    const item = { peer_name: 'bob', news: said, interaction_id: id, side: 'sent' } as InteractionSummary
    const news = channelMessage(item, name => here.includes(name))?.content ?? ''
    const foreign = namedIn(`${instructions(offered, 3)} ${news}`).filter(name => !here.includes(name))
    expect(foreign).toEqual([])
  })

  test('what comes after an error names these alone, or is asked of the user', () => {
    for (const tool of offered)
      for (const code of Object.keys(controlCodes))
        for (const args of [{}, { interaction_id: id }, { to: "o'neill", task: 'x' }]) {
          const { next } = explain(new OperationRefused(code as never, 'x'), tool, args, context)
          expect([code, next, namedIn(next).filter(name => !here.includes(name))]).toEqual([code, next, []])
        }
  })
})

describe('the instructions', () => {
  test('of a server that only reads begin with what it shows, and promise no sending', () => {
    expect(instructions(reading, 0)).toMatch(/^svc shows you .* nothing is sent from here\./)
    expect(instructions(reading, 0)).not.toMatch(/delegate tasks|Usual way/)
  })

  test.each([
    [
      'without task_delegate',
      ['task_delegate'],
      /^svc lets you write in the tasks .* are not begun from here\./,
    ],
    [
      'without task_message',
      ['task_message'],
      /^svc lets you delegate tasks to other people's agents, sealed/,
    ],
    ['with task_end alone', ['task_delegate', 'task_message'], /^svc lets you end tasks between /],
  ])('of a server %s begin with what it does', (_, left, lead) => {
    const offered = tools.filter(({ name }) => !left.includes(name))
    expect(instructions(offered, 0)).toMatch(lead)
  })

  test('tell how many tasks are open, where some are and they can be listed', () => {
    expect(instructions(tools, 1)).toContain('1 task(s) of contacts are open in the inbox')
    expect(instructions(tools, 0)).not.toContain('task(s)')
    const unlisted = tools.filter(({ name }) => name !== 'task_inbox')
    expect(instructions(unlisted, 1)).not.toContain('task(s)')
  })

  test('of the whole server name the usual way', () => {
    expect(instructions(tools, 0)).toMatch(/^svc lets you delegate tasks .* and answer theirs/)
    expect(instructions(tools, 0)).toContain('agents_find, task_delegate with wait_s, task_results')
  })
})
