import { describe, expect, test } from 'vitest'
import { hubAddress } from './operation.ts'

const said = (address: string) => hubAddress.safeParse(address).error?.issues.map(({ message }) => message)
const expected = 'expected the address of a hub, such as https://hub.example'

describe('the address of a hub', () => {
  test.each(['127.0.0.1:8088', 'localhost:8088', 'hub.example'])(
    '%s lacks its scheme, which is said',
    text => {
      expect(said(text)).toEqual([`${expected}: http:// or https:// is missing`])
    },
  )

  test.each(['', 'ftp://hub.example', 'two words'])('"%s" is none', text => {
    expect(said(text)).toEqual([expected])
  })

  test.each(['http://127.0.0.1:8088', 'https://hub.example'])('%s is one', text => {
    expect(said(text)).toBeUndefined()
  })
})
