/** What a terminal says of its mouse, and what stays for the keys. */
import { expect, test } from 'vitest'
import { type Mouse, MouseReader } from './mouse.ts'

const ESC = '\u001b'

function reading(...chunks: string[]) {
  const heard: Mouse[] = []
  const reader = new MouseReader(mouse => heard.push(mouse))
  return { left: chunks.map(chunk => reader.take(chunk)), heard }
}

test('a click and the wheel are taken out of what is typed, with their place', () => {
  const { left, heard } = reading(`a${ESC}[<0;12;5Mb`, `${ESC}[<0;12;5m`, `${ESC}[<64;1;1M${ESC}[<65;300;2M`)
  expect(left).toEqual(['ab', '', ''])
  expect(heard).toEqual([
    { kind: 'click', x: 11, y: 4 },
    { kind: 'wheel_up', x: 0, y: 0 },
    { kind: 'wheel_down', x: 299, y: 1 },
  ])
})

test('a report that comes in two parts is one, and other sequences stay whole', () => {
  const { left, heard } = reading(`x${ESC}[<0;1`, `2;5My${ESC}[A`, `${ESC}`, '[B')
  expect(left).toEqual(['x', `y${ESC}[A`, ESC, '[B'])
  expect(heard).toEqual([{ kind: 'click', x: 11, y: 4 }])
})

test('other buttons and dragging mean nothing, and are no words', () => {
  const { left, heard } = reading(`${ESC}[<2;1;1M${ESC}[<35;1;1M${ESC}[<1;1;1M`)
  expect([left, heard]).toEqual([[''], []])
})

test('what is pasted is no mouse, whatever stands in it, also in parts', () => {
  const paste = `${ESC}[200~words ${ESC}[<0;12;5M and ${ESC}[<0;1`
  const { left, heard } = reading(paste, `${ESC}[201~${ESC}[<0;1;1M`)
  expect(left.join('')).toBe(`${paste}${ESC}[201~`)
  expect(heard).toEqual([{ kind: 'click', x: 0, y: 0 }])
})
