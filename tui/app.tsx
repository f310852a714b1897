/** The only part that Ink sees: one text of the size of the terminal, its cursor, and the keys. */
import { Text, useApp, useCursor, useInput, usePaste, useWindowSize } from 'ink'
import { useEffect, useSyncExternalStore } from 'react'
import type { Driver } from './driver.ts'
import { pressesOf } from './press.ts'

export type Lend = ReturnType<typeof useApp>['suspendTerminal']

export function App({ driver, onTerminal }: { driver: Driver; onTerminal: (lend: Lend) => void }) {
  const { suspendTerminal } = useApp()
  const { columns, rows } = useWindowSize()
  const { setCursorPosition } = useCursor()
  const { text, cursor } = useSyncExternalStore(driver.subscribe, driver.drawn)
  useEffect(() => onTerminal(suspendTerminal), [onTerminal, suspendTerminal])
  useEffect(() => driver.resize({ columns, rows }), [driver, columns, rows])
  useInput((input, key) => driver.press(pressesOf(input, key)))
  usePaste(pasted => driver.paste(pasted))
  setCursorPosition(cursor)
  return <Text wrap="truncate-end">{text}</Text>
}
