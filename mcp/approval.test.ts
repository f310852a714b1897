/** Who approves the task of a stranger, and how often it is asked. */
import { expect, test } from 'vitest'
import { type AskUser, askAbout, askOf, quoted } from './approval.ts'
import type { ToolContext } from './tool.ts'

const waiting = {
  interaction_id: 'i',
  peer: 'A1',
  turns: [
    { mine: true, text: 'mine' },
    { mine: false, text: 'do “this”' },
  ],
}

function asking(answers: (string | undefined)[], isAnswered = false) {
  const [questions, calls]: [string[], string[]] = [[], []]
  const askUser: AskUser = {
    put: async question => {
      questions.push(question)
      return answers.shift()
    },
    isAnswered: () => isAnswered,
  }
  const call = async (name: string) => void calls.push(name)
  const context = { askUser, asked: new Map(), call } as unknown as ToolContext
  return { questions, calls, context }
}

test('what the user says is done, and nothing where nothing is decided', async () => {
  for (const [answer, done] of [
    ['approve', ['approve']],
    ['decline', ['decline']],
    ['later', []],
    [undefined, []],
  ] as const) {
    const { questions, calls, context } = asking([answer])
    expect(await askAbout(waiting, context)).toBe(done.length > 0)
    expect(calls).toEqual(done)
    expect(questions[0]).toBe('A1 is not a contact of yours and asks your agent for this: “do ’this’”')
  }
})

test('a question that found nobody is put once more, one that was answered never', async () => {
  const nobody = asking([])
  for (let n = 0; n < 3; n++) await askAbout(waiting, nobody.context)
  expect(nobody.questions).toHaveLength(2)
  const later = asking(['later', 'approve'])
  for (let n = 0; n < 3; n++) await askAbout(waiting, later.context)
  expect([later.questions.length, later.calls]).toEqual([1, []])
})

test('a later round of one call does not count as another question', async () => {
  const { questions, context } = asking([], true)
  for (let n = 0; n < 3; n++) await askAbout(waiting, context)
  expect([questions.length, context.asked.size]).toEqual([3, 0])
})

test('without a user nobody is asked, and no words end the quotation', async () => {
  const context = { asked: new Map() } as unknown as ToolContext
  expect(await askOf('i', { question: 'q', answers: {} }, context)).toBeUndefined()
  expect(quoted(`a "b" ${'x'.repeat(500)}`).length).toBeLessThanOrEqual(401)
})

test('four hundred characters of a stranger are quoted, on one line', () => {
  expect(quoted('x'.repeat(400))).toBe('x'.repeat(400))
  expect([...quoted('x'.repeat(401))]).toHaveLength(400)
  expect(quoted('a\nb')).toBe('a b')
})
