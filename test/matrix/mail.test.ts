import { testCells } from './cells.ts'
import { messages } from './rows/mail.ts'

testCells(messages)
