import { expect, test } from 'vitest'
import { type MethodName, methodAt, methods, ownSegments } from './methods.ts'
import { requests } from './shapes.ts'

test.each(Object.entries(methods))('%s is found at its path, with the parameters in it', (name, row) => {
  const names = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const path = row.path.replace(/\{(\w+)\}/g, 'v-$1')
  const given = Object.fromEntries(names.map(each => [each, `v-${each}`]))
  for (const verb of row.verbs) expect(methodAt(verb, path)).toEqual({ name, given })
  expect(methodAt('PATCH', path)).toHaveProperty('verbs')
})

test('every method has the parameters of a message of the proto', () => {
  for (const { request } of Object.values(methods)) expect(requests).toHaveProperty(request)
})

test('a task is not taken for a method on it', () => {
  const nameAt = (verb: string, path: string): MethodName | undefined => {
    const found = methodAt(verb, path)
    return found !== undefined && 'name' in found ? found.name : undefined
  }
  expect(nameAt('GET', '/tasks/abc')).toBe('GetTask')
  expect(nameAt('POST', '/tasks/abc:cancel')).toBe('CancelTask')
  expect(nameAt('GET', '/tasks/abc:cancel')).toBeUndefined()
  expect(nameAt('GET', '/tasks/a/b')).toBeUndefined()
})

test('no agent is hidden by a method: their first segments are known', () => {
  expect(ownSegments).toEqual(['message:send', 'message:stream', 'tasks', 'extendedAgentCard', '.well-known'])
})
