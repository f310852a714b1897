/** Lines that explain what comes up for the first time. */
import { expect, test } from 'vitest'
import { dueLesson } from './lessons.ts'
import { item, viewOf } from './testing.ts'

const WIDTH_MIN = 78
const receipt = { id: 'r', verified: true, status: 'OK', result_cid: 'c' }

test('the first stranger, delegation and receipt are explained, each once', () => {
  expect(dueLesson(viewOf([item(1)]), [])).toBeUndefined()
  expect(dueLesson(viewOf([item(1, { state: 'pending' })]), [])?.says.length).toBeLessThan(WIDTH_MIN)
  expect(dueLesson(viewOf([item(1, { state: 'pending' })]), [])?.name).toBe('stranger')
  expect(dueLesson(viewOf([item(1, { state: 'pending' })]), ['stranger'])).toBeUndefined()
  expect(dueLesson(viewOf([item(1, { side: 'sent' })]), [])?.name).toBe('delegation')
  expect(dueLesson(viewOf([item(1, { side: 'sent', receipt })]), ['delegation'])?.name).toBe('receipt')
  expect(dueLesson(viewOf([item(1, { receipt: { ...receipt, verified: false } })]), [])).toBeUndefined()
})
