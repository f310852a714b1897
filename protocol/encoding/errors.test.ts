import { describe, expect, test } from 'vitest'
import { Malformed } from './bytes.ts'
import { Failure, Refusal, systemCode } from './errors.ts'

describe('errors', () => {
  test('a refusal carries its code beside its sentence, and its cause', () => {
    class TooMany extends Refusal<'too_many'> {}
    const cause = new Error('why')
    const error = new TooMany('too_many', 'too many; send fewer', { cause })
    expect(error).toMatchObject({ code: 'too_many', message: 'too many; send fewer', cause })
    expect(error).not.toBeInstanceOf(Failure)
  })

  test('bytes without their form are a refusal', () => {
    expect(new Malformed('not hex')).toMatchObject({
      code: 'malformed',
      message: 'not hex',
      name: 'Malformed',
    })
    expect(new Malformed('')).toBeInstanceOf(Refusal)
  })

  test('the code of the system is read from errors of the system alone', () => {
    expect(systemCode(Object.assign(new Error('gone'), { code: 'ENOENT' }))).toBe('ENOENT')
    expect(systemCode(new Malformed('x'))).toBeUndefined()
    expect(systemCode(Object.assign(new Error('odd'), { code: 7 }))).toBeUndefined()
    expect(systemCode(new Error('plain'))).toBeUndefined()
    expect(systemCode({ code: 'ENOENT' })).toBeUndefined()
    expect(systemCode(undefined)).toBeUndefined()
  })
})
