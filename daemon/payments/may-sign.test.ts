import { expect, test } from 'vitest'
import { mayAsk, maySign } from './may-sign.ts'

const of = (deactivated: boolean, oldCopy?: string, unsettled?: string) =>
  maySign({ log: { deactivated } } as never, { oldCopy, unsettled } as never)

test('nothing is paid for an ended identity, by an older copy, or before a restored one was compared', () => {
  expect(of(false)).toBe(true)
  expect(of(true)).toBe(false)
  expect(of(false, 'a newer copy was seen')).toBe(false)
  expect(of(false, undefined, 'the hub was not asked yet')).toBe(false)
})

test('an ended identity asks on, an older copy and a restored one before it was compared do not', () => {
  const asks = (hub: object) => mayAsk(hub as never)
  expect([asks({}), asks({ oldCopy: 'a newer copy' }), asks({ unsettled: 'not asked yet' })]).toEqual([
    true,
    false,
    false,
  ])
})

test('each reason not to sign or ask is enough on its own', () => {
  for (const name of ['oldCopy', 'unsettled', 'unasked']) {
    const hub = { [name]: 'a reason' } as never
    expect([mayAsk(hub), maySign({ log: { deactivated: false } } as never, hub)]).toEqual([false, false])
  }
})
