import { testCells } from './cells.ts'
import { mail } from './rows/mail.ts'

testCells(mail)
